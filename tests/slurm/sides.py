# SPDX-License-Identifier: Apache-2.0
"""Gives the operations of a stream (streams.py) to one cluster."""

import claims
import streams


class Side:
    """One of the two clusters, and which job of it is which of the stream."""

    def __init__(self, name, cluster):
        self.name, self.cluster = name, cluster
        self.ids, self.refused, self.changed = {}, {}, set()

    def apply(self, op):
        if op["op"] == "submit":
            return self._submit(op)
        return getattr(self, "_" + op["op"])(op)

    def _scontrol(self, *words):
        self.cluster.try_run("scontrol", *words)

    def _submit(self, op):
        done = self.cluster.try_run("sbatch", "--parsable", "--output=/dev/null", *op["options"],
                                    stdin="#!/bin/sh\nexec sleep 9999\n")
        if done.returncode == 0:
            self.ids[op["number"]] = int(done.stdout.strip())
        else:
            self.refused[op["number"]] = done.stderr.strip()

    def _picked(self, op, jobs):
        ids = sorted(jobs)
        return sorted({ids[int(p * len(ids))] for p in op["picks"]}) if ids else []

    def _cancel(self, op):
        gone = self._picked(op, claims.started(self.cluster.jobs()))
        if gone:
            self.cluster.try_run("scancel", *map(str, gone))

    def _pending(self, op):
        return self._picked(op, {i for i, j in self.cluster.jobs().items() if j.state == "PENDING"})

    def _hold(self, op):
        for job in self._pending(op):
            self._scontrol("hold", str(job))

    def _release(self, _):
        for job in self.cluster.jobs().values():
            if job.state == "PENDING" and job.reason.startswith("JobHeld"):
                self._scontrol("release", str(job.id))

    def _drain(self, op, state="DRAIN"):
        """Only a node that is idle: a CLOUD node that is still powering up gives its jobs back to the queue, and then
        stock loses count of their GPUs."""
        if not any(op["node"] in j.nodes for j in claims.started(self.cluster.jobs()).values()):
            self._scontrol("update", f"NodeName={op['node']}", f"State={state}", "Reason=test")

    def _down(self, op):
        self._drain(op, "DOWN")

    def _resume(self, _):
        for name, node in self.cluster.nodes().items():
            if node.state & {"DRAIN", "DOWN"}:
                self._scontrol("update", f"NodeName={name}", "State=RESUME")

    def _reconfigure(self, _):
        self._scontrol("reconfigure")

    def _restart(self, _):
        self.cluster.stop_ctld(seconds=60)
        self.cluster.state = "its own"
        self.cluster.start_ctld()
        self.cluster.cancel(self.cluster.submit("--hold", "-n1"))  # else the main scheduler's next turn is in 60 s

    def _reserve(self, op):
        first = int(op["node"][1:])
        self._scontrol("create", "reservation", "ReservationName=later", "StartTime=now+20minutes", "Duration=60",
                       f"Nodes=g[{first}-{min(first + 4, streams.NODES)}]", "Users=root", "Flags=IGNORE_JOBS")

    def _unreserve(self, _):
        self._scontrol("delete", "ReservationName=later")

    def _weight(self, op):
        self._scontrol("update", f"NodeName={op['node']}", f"Weight={1 + int(op['value'] * 30)}")

    def _change(self, op):
        what = ("TimeLimit=10", "Partition=main", "NumNodes=2", "Priority=9", "Features=wide", "ExcNodeList=g1,g2")
        for job in self._pending(op):
            self.changed.add(job)
            self._scontrol("update", f"JobId={job}", what[int(op["value"] * len(what))])
