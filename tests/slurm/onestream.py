# SPDX-License-Identifier: Apache-2.0
"""One stream on stock and on Atoll, and what is found; `differential` tells what is looked at."""

import os
import re
import shutil
import subprocess
import time

import boards
import claims
import streams
from cluster import SlurmError
from handover import ShapedCluster, copy_state, hand_over, settle, waiting
from sides import Side
from streams import make_shape, make_steps

ERRORS = r"error:.*(?i:gres|select|cons_tres|atoll|gpu|bitmap|underflow|corrupt|core)"


def error_lines(text):
    """What makes a line unique (ids, times, lists of cores) is cut out."""
    return {re.sub(r"\d+([,-]\d+)*", "#", line.partition("] ")[2]) for line in text.splitlines() if re.search(ERRORS, line)}


class Stream:
    """Runs one stream; findings are [step, rule, text]."""

    def __init__(self, args, seed, only=None):
        self.args, self.seed = args, seed
        self.shape = make_shape(seed)
        self.steps = [(n, s) for n, s in enumerate(make_steps(seed, args.steps, self.shape))
                      if only is None or n in only]
        self.ops = {op["number"]: op for _, step in self.steps for op in step if op["op"] == "submit"}
        self.findings, self.of_stock, self.notes = [], {}, []
        self.counts = dict.fromkeys(("jobs", "steps", "started", "handovers", "judged", "late", "restart"), 0)
        self.step = -1
        self.judge_errors = set()
        self.able = None
        self.seen = set()

    def find(self, rule, text):
        if (rule, text) not in self.seen:
            self.seen.add((rule, text))
            self.findings.append([self.step, rule, text])

    def run(self, folder):
        text = boards.cluster_file(self.shape.layout).replace(f"g[1-{streams.NODES}]", f"g[1-{self.shape.known}]", 1)
        self.cluster_file, self.folder = text, folder
        with ShapedCluster(self.shape, parent=folder) as stock, \
                ShapedCluster(self.shape, self.args.plugin, text, parent=folder) as atoll:
            self.sides = [Side("stock", stock), Side("Atoll", atoll)]
            try:
                self._steps()
                if not self.findings:
                    self._end()
            except (SlurmError, subprocess.SubprocessError) as error:
                dead = [s.name for s in self.sides if not (s.cluster.ctld and s.cluster.ctld.alive())]
                self.find("alive" if dead else "harness", f"{error}; slurmctld dead: {dead or 'none'}")
            self._errors()
            for side in self.sides:
                self._keep(side)
        return self

    def _keep(self, side):
        try:
            shutil.copy(os.path.join(side.cluster.folder, "slurmctld.log"), os.path.join(self.folder, f"{side.name}.log"))
        except OSError:
            pass

    def _steps(self):
        for self.step, step in self.steps:
            for op in step:
                for side in self.sides:
                    side.apply(op)
            began = time.monotonic()
            jobs = settle(*(side.cluster for side in self.sides))
            self.settled_s, self.began = time.monotonic() - began, time.monotonic()
            self.counts["steps"] += 1
            self.counts["jobs"] += sum(op["op"] == "submit" for op in step)
            self._look(jobs)
            if waiting(jobs[1]) and not self.findings:
                self._promise()
            if self.findings:
                return

    # --- what must hold after each step ---

    def _look(self, both):
        found = []
        for side, jobs in zip(self.sides, both):
            number_of = {i: n for n, i in side.ids.items()}
            mine = [*claims.handed_out_twice(jobs, side.cluster.nodes()), *claims.started_though_held(jobs)]
            for i, job in claims.started(jobs).items():
                op = self.ops.get(number_of.get(i))
                if op and not job.fields.get("Restarts", "0") != "0":
                    mine += [(kind, f"job {i} ({' '.join(op['options'])}): {text}", i)
                             for kind, text in claims.not_as_asked(job, op["wish"], self.shape)]
            found.append(mine)
        for kind, text, *_ in found[0]:
            self.of_stock.setdefault(kind, text)
        chosen = self.sides[1].cluster.chosen_by_atoll() if found[1] else ()
        for kind, text, *job in found[1]:
            if job and job[0] not in chosen:
                self.notes.append(["-", "stock's own choice", text])
            elif kind in self.of_stock:
                self.notes.append(["-", "stock's too", text])
            else:
                self.find(kind, text)
        self.notes = [list(n) for n in dict.fromkeys(map(tuple, self.notes))]
        self.counts["started"] = max(self.counts["started"], sum(j.nodes != [] for j in both[1].values()))
        self._refusals(both)

    def _refusals(self, both):
        stock, atoll = (side.refused for side in self.sides)
        for number in sorted(set(stock) ^ set(atoll)):
            self.find("refused", f"{' '.join(self.ops[number]['options'])}: refused by "
                      + (f"Atoll alone: {atoll[number]}" if number in atoll else f"stock alone: {stock[number]}"))
        for number in self.ops:
            job, other = (jobs.get(side.ids.get(number)) for side, jobs in zip(self.sides, both))
            if job and other and (other.state == "FAILED") and job.state != "FAILED":
                self.find("failed", f"{' '.join(self.ops[number]['options'])}: {other.reason} under Atoll, "
                                    f"{job.state} {job.reason} under stock")

    # --- the promise ---

    def _promise(self):
        atoll = self.sides[1].cluster
        state = os.path.join(self.folder, "copy")
        for again in range(3):
            before = copy_state(atoll, state)
            if before is None:
                settle(atoll)
                continue
            copied = time.monotonic()
            verdict = hand_over(self.shape, state, before, self.folder, self.args.plugin, options=self._options(before),
                                prove_able=self.able is None, keep_log=os.path.join(self.folder, "judge.log"))
            if not verdict.unfit and (not verdict.lost or again):
                break  # a job that seems lost may only have been missing in the copy
        else:
            self.notes.append([self.step, "harness", "no copy of the state would do"])
            return
        self.able = verdict.able if verdict.able is not None else self.able
        self.judge_errors |= error_lines(verdict.log)
        self.counts["handovers"] += 1
        self.notes.append([self.step, "time", f"settled {self.settled_s:.1f} s, copied {copied - self.began:.1f} s, judged "
                           f"{time.monotonic() - copied:.1f} s"])
        self.counts["judged"] += len(waiting(before))
        if verdict.able is False:
            self.find("judge", "the heir does not start a job of one GPU even when all others are gone")
        for i, job in verdict.clones.items():
            self.find("clone", f"job {i} waits under Atoll and stock; a new job with its options starts on {job.nodes} with "
                               f"GPUs {job.gpus}")
        for i, (was, now) in verdict.lost.items():
            self.find("lost", f"job {i} held {was}, under stock {now}")
        self._suspects(verdict, before, state)

    def _options(self, jobs):
        """Options of the waiting jobs that no event has changed since: id → list."""
        side = self.sides[1]
        return {side.ids[n]: op["options"] for n, op in self.ops.items()
                if side.ids.get(n) in waiting(jobs) and side.ids[n] not in side.changed}

    def _suspects(self, verdict, before, state):
        atoll = self.sides[1].cluster
        suspects = [i for i in verdict.started if i in waiting(before)]
        if not suspects:
            return
        after, = settle(atoll)
        late = [i for i in suspects if after[i].state != "PENDING"]
        self.counts["late"] += len(late)
        self.notes += [[self.step, "late", f"job {i} {after[i].state}"] for i in late]
        if late:  # what else started may have waited for these
            return
        number_of = {i: n for n, i in self.sides[1].ids.items()}
        reconfigured, stocks = self._reconfigured()
        off = {} if all(reconfigured[i].state != "PENDING" for i in suspects) else self._switched_off()
        for i in suspects:
            job, heir = before[i], verdict.started[i]
            op = self.ops.get(number_of.get(i))
            text = (f"job {i} ({' '.join(op['options']) if op else '?'}) waits under Atoll ({job.reason}); stock starts "
                    f"it in the same state on {heir.nodes} with GPUs {heir.gpus} ({heir.fields.get('Scheduler')})")
            if reconfigured[i].state != "PENDING" and not stocks:
                self.find("promise", f"{text}; Atoll after a reconfigure, which makes no job start under stock")
            elif reconfigured[i].state != "PENDING" or off[i].state == "PENDING":
                self.counts["restart"] += 1
                self.notes.append([self.step, "restart", text])
            else:
                self.find("promise", f"{text}; the running slurmctld starts it once Atoll is switched off")

    def _reconfigured(self):
        """What a mere reconfigure makes start: jobs of Atoll after it, and the jobs that it started under stock. There
        are requests that stock, too, sees in another light after a reconfigure or restart."""
        before = waiting(self.sides[0].cluster.jobs())
        for side in self.sides:
            side.cluster.reconfigure()
        stock, atoll = settle(*(side.cluster for side in self.sides))
        return atoll, [i for i in before if stock[i].state != "PENDING"]

    def _switched_off(self):
        """What the running slurmctld has of the jobs after some turns as stock: what starts only after a restart, be
        it under stock or Atoll, is not Atoll's doing."""
        atoll = self.sides[1].cluster
        atoll.write_atoll_conf("mode: off\n" + atoll.default_atoll_conf())
        atoll.reconfigure()
        jobs, = settle(atoll)
        atoll.write_atoll_conf(atoll.default_atoll_conf())
        atoll.reconfigure()
        return jobs

    # --- the end ---

    def _end(self):
        for side in self.sides:
            side.apply({"op": "resume"})
            side.apply({"op": "unreserve"})
            side.cluster.cancel_all()
        whole = {}
        for side in self.sides:
            job = side.cluster.submit(f"-N{streams.NODES}", "--exclusive", "--gres=gpu:6", "-p", "main")
            try:
                whole[side.name] = side.cluster.wait_state(job, "RUNNING", "CONFIGURING", seconds=30)
            except SlurmError as error:
                whole[side.name] = None
                if side.name == "Atoll" and whole["stock"]:
                    self.find("all free", str(error))
        used = [n.gpu_count_used for n in self.sides[1].cluster.nodes().values()]
        if whole["Atoll"] and len(whole["Atoll"].nodes) != streams.NODES:
            self.find("all free", f"the job of all nodes is on {whole['Atoll'].nodes}, GPUs used {used}")
        for side in self.sides:
            side.cluster.cancel_all()
        stocks, held = ({n: j.gpu_count_used for n, j in side.cluster.nodes().items() if j.gpu_count_used}
                        for side in self.sides)
        if held and not stocks:
            self.find("all free", f"GPUs counted as used when no job is left: {held}")
        self.sides[1].cluster.reconfigure()

    def _errors(self):
        logs = [side.cluster.ctld_log() for side in self.sides]
        new = error_lines(logs[1]) - error_lines(logs[0]) - self.judge_errors
        for line in sorted(new):
            self.find("log", f"only Atoll's slurmctld logs: {line}")
        for line in logs[1].splitlines():
            if "atoll: inner error" in line:
                self.find("log", line)
            if "decisions since start" in line:
                self.decisions = line.split("] ", 1)[-1]
                self.notes.append([self.step, "summary", self.decisions])
