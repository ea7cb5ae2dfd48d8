# SPDX-License-Identifier: Apache-2.0
"""Clusters of a Shape; waiting until nothing more happens; handing a copy of a cluster's state to another slurmctld."""

import os
import re
import shutil
import time

from claims import started
from cluster import SlurmCluster, SlurmError

SAVED_WITHIN_S = 12.0  # slurmctld saves what changed at most 5 s later, and looks once a second
QUIET_S = 20.0  # when its turns cannot be counted, slurmctld is believed to be done after so long


class ShapedCluster(SlurmCluster):
    """A cluster of CLOUD nodes of that shape. state: a folder with the saved state it comes up with. select: another
    SelectType than the plugin's (stock reads jobs saved under Atoll only while it finds the plugin)."""

    START_SECONDS = 90.0

    def __init__(self, shape, plugin=None, cluster_file=None, state=None, parent=None, select=None):
        super().__init__(shape.layout, plugin=plugin, cluster_file=cluster_file, folder=parent)
        self.select = select
        self.shape = shape
        self.state = state

    def _start_munged(self):
        """The configuration is written, nothing runs: node by node as the shape says."""
        path = os.path.join(self.folder, "slurm.conf")
        with open(path) as f:
            lines = f.read().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("NodeName="))
        lines[at:at + 1] = self.shape.node_lines()
        for name, text in (("slurm.conf", lines), ("gres.conf", self.shape.gres_lines(self.folder))):
            with open(os.path.join(self.folder, name), "w") as f:
                f.write("\n".join(text) + "\n")
        if self.select:
            self.set_select(self.select)
        if self.state:
            shutil.rmtree(os.path.join(self.folder, "state"))
            shutil.copytree(self.state, os.path.join(self.folder, "state"))
        super()._start_munged()

    def _start_ctld(self, *options):
        super()._start_ctld(*([] if self.state else options))

    def default_atoll_conf(self):
        return super().default_atoll_conf() + "log_decisions: true\n"

    def chosen_by_atoll(self):
        """Jobs whose last yes came from an attempt of Atoll's, not from the call that stock would have got."""
        last = dict(re.findall(r"atoll: JobId=(\d+) ([^:\n]*).*: fits, ", self.ctld_log()))
        return {int(job) for job, step in last.items() if step.startswith("placed")}

    def turns(self):
        """How often the main scheduler and backfill have had their turn since slurmctld started."""
        counts = re.findall(r"Total cycles: (\d+)", self.try_run("sdiag").stdout)
        return tuple(map(int, counts[:2])) if len(counts) >= 2 else (0, 0)


def waiting(jobs):
    """Jobs that only resources keep waiting: not held, not put off."""
    return {i: j for i, j in jobs.items() if j.state == "PENDING" and not re.match(
        r"JobHeld|BeginTime|Dependency|Reservation", j.reason)}


def holdings(jobs):
    return {i: (j.nodes, j.gpus, j.cpus) for i, j in started(jobs).items()}


def _picture(jobs):
    return {i: (j.state, j.nodes) for i, j in jobs.items()}


def settle(*clusters):
    """Until both schedulers of each have looked at the waiting jobs since nothing changes any more; the jobs of each.
    Backfill starts within a second of a change, and has no turn when there was none: then four turns of the main
    scheduler, one a second, do."""
    until = time.monotonic() + QUIET_S
    at = [None] * len(clusters)
    seen = [None] * len(clusters)
    done = [False] * len(clusters)
    begin = time.monotonic()
    while not all(done) and time.monotonic() < until:
        time.sleep(0.6)
        for i, cluster in enumerate(clusters):
            jobs, turns = cluster.jobs(), cluster.turns()
            if seen[i] is None or _picture(jobs) != _picture(seen[i]):
                at[i] = turns
            seen[i] = jobs
            idle = not waiting(jobs) and time.monotonic() > begin + 1.5
            turned = turns[0] >= at[i][0] + (2 if turns[1] > at[i][1] else 4)
            done[i] = (idle or turned) and not any("COMPLETING" in j.state for j in jobs.values())
    return [cluster.jobs() for cluster in clusters]


def copy_state(cluster, to):
    """Copies the saved state once it holds what has happened so far. The jobs at that time, or None when they changed
    meanwhile. What backfill started is saved only with the next change of a job: one that runs is given a comment."""
    saved = os.path.join(cluster.folder, "state")
    before = cluster.jobs()
    asked = time.time()
    for job in [*started(before), *waiting(before)]:
        if cluster.try_run("scontrol", "update", f"JobId={job}", f"Comment={asked:.0f}").returncode == 0:
            break
    while time.time() < asked + SAVED_WITHIN_S:
        try:
            if os.stat(os.path.join(saved, "job_state")).st_mtime > asked:
                break
        except OSError:
            pass
        time.sleep(0.2)
    time.sleep(0.3)  # the other files are written after job_state
    for _ in range(5):
        shutil.rmtree(to, ignore_errors=True)
        try:
            shutil.copytree(saved, to)
            break
        except (shutil.Error, OSError):  # a file was replaced under our hands
            time.sleep(0.5)
    after = cluster.jobs()
    return after if _picture(before) == _picture(after) else None


class Verdict:
    """started: jobs that the heir started at once; clones: jobs of which a copy submitted anew starts;
    lost: running jobs it does not hold as they were (but for those cancelled to make room for a started one);
    unfit: why the copy proves nothing, or None; able: it starts a job of one GPU once all others are gone."""

    def __init__(self):
        self.started, self.clones, self.lost, self.unfit, self.able, self.log = {}, {}, {}, None, None, ""


def hand_over(shape, state, before, parent, plugin, cluster_file=None, options=None, prove_able=False, keep_log=None):
    """Starts slurmctld on the state, stock unless there is a cluster file; what it does with the jobs of `before`."""
    out = Verdict()
    select = None if cluster_file else "select/cons_tres"
    with ShapedCluster(shape, plugin, cluster_file, state, parent, select) as heir:
        heir.submit("--hold", "-n1")  # else the main scheduler has its first turn only after 60 s
        jobs, = settle(heir)
        old, new = holdings(before), holdings(jobs)
        if set(waiting(before)) - set(jobs):
            out.unfit = "the copy lacks jobs"
            return out
        out.lost = {i: (old[i], new.get(i)) for i in old if old[i] != new.get(i) and jobs[i].state != "CANCELLED"}
        out.started = {i: jobs[i] for i in set(new) - set(old)}
        if options and not out.started:
            out.clones = _clones(heir, options)
        if prove_able and not out.started:
            out.able = _can_start(heir, heir.jobs())
        out.log = heir.ctld_log()
        if keep_log:
            shutil.copy(os.path.join(heir.folder, "slurmctld.log"), keep_log)
    return out


def _clones(heir, options):
    """Jobs of which a copy starts though they wait: id → the copy."""
    copies = {}
    for i, words in options.items():
        done = heir.try_run("sbatch", "--parsable", "--output=/dev/null", *words, stdin="#!/bin/sh\n")
        if done.returncode == 0:
            copies[i] = int(done.stdout.strip())
    jobs, = settle(heir)
    return {i: jobs[copy] for i, copy in copies.items() if copy in started(jobs) and i not in started(jobs)}


def _can_start(heir, jobs):
    """The judge must be able to start a job of GPUs, or its silence means nothing."""
    heir.try_run("scontrol", "delete", "ReservationName=later")
    for name, node in heir.nodes().items():
        if node.state & {"DRAIN", "DOWN"}:
            heir.try_run("scontrol", "update", f"NodeName={name}", "State=RESUME")
    heir.run("scancel", *(str(i) for i, j in jobs.items() if j.state == "PENDING" or i in started(jobs)))
    probe = heir.submit("-N1", "-n1", "--gpus-per-node=1", "--mem=1")
    try:
        heir.wait_state(probe, "RUNNING", "CONFIGURING", seconds=40)
        return True
    except SlurmError:
        return False
