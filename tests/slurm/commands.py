# SPDX-License-Identifier: Apache-2.0
"""What a test says to a running cluster: jobs, nodes, slurmctld, logs. The half of SlurmCluster that
starts nothing. Every call is bounded in time and raises SlurmError with what Slurm said."""

import os
import re
import shutil
import subprocess
import time

import parse

ENDED = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
         "PREEMPTED"}


class SlurmError(RuntimeError):
    """A command failed or a bounded wait ran out; the text holds what Slurm said."""


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin")


class Commands:
    """Of SlurmCluster it uses folder, env, layout, ctld and verbose."""

    COMMAND_SECONDS = 60.0

    def try_run(self, *argv, seconds=None, stdin=None, env=None):
        """Runs a Slurm command; the CompletedProcess (text), whatever its exit status."""
        try:
            done = subprocess.run([program(argv[0]) or argv[0], *argv[1:]], env={**self.env, **(env or {})},
                                  input=stdin if stdin is not None else "", capture_output=True, text=True,
                                  timeout=seconds or self.COMMAND_SECONDS, cwd=os.path.join(self.folder, "out"))
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(argv, 124, "", f"no answer in {late.timeout} s")
        if self.verbose:
            print(f"    $ {' '.join(argv)} -> {done.returncode} {done.stdout.strip()} {done.stderr.strip()}")
        return done

    def run(self, *argv, **options):
        """Runs a Slurm command that must succeed; its standard output."""
        done = self.try_run(*argv, **options)
        if done.returncode:
            raise SlurmError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def submit(self, *options, seconds=600, script=None):
        """sbatch with these options of a job that sleeps; its job id. SlurmError when refused."""
        body = script or f"#!/bin/sh\nexec sleep {seconds}\n"
        out = self.run("sbatch", "--parsable", "--output=/dev/null", *options, stdin=body)
        return int(re.match(r"\d+", out.strip()).group())

    def job(self, job_id):
        """The job as slurmctld has it now: state, nodes, gpus and cpus by node."""
        return parse.parse_job(self.run("scontrol", "-o", "show", "job", "-d", str(job_id)))

    def jobs(self):
        """All jobs slurmctld knows, ended ones too: id → Job."""
        lines = self.run("scontrol", "-o", "show", "job", "-d").splitlines()
        found = [parse.parse_job(line) for line in lines if line.startswith("JobId=")]
        return {j.id: j for j in found}

    def nodes(self):
        done = self.try_run("scontrol", "-o", "-d", "show", "nodes")
        found = [parse.parse_node(line) for line in done.stdout.splitlines() if line.startswith("NodeName=")]
        if not found:
            raise SlurmError(f"scontrol show nodes: {done.stderr.strip() or 'no node'}")
        return {n.name: n for n in found}

    def wait_state(self, job_id, *states, seconds=30.0):
        """Waits until the job is in one of `states` ("RUNNING"; "ENDED": any final state); returns it."""
        wanted = set(states) | (ENDED if "ENDED" in states else set())
        until = time.monotonic() + seconds
        while True:
            job = self.job(job_id)
            if job.state in wanted:
                return job
            if time.monotonic() > until or (job.state in ENDED and not wanted & ENDED):
                raise SlurmError(f"job {job_id} is {job.state} ({job.reason}), not {' or '.join(states)}, "
                                 f"after {seconds:.0f} s")
            time.sleep(0.1)

    def start_job(self, *options, seconds_to_start=30.0, **more):
        """submit and wait until it runs (CLOUD nodes: has its nodes); the Job."""
        job_id = self.submit(*options, **more)
        return self.wait_state(job_id, *(("CONFIGURING", "RUNNING") if self.layout.cloud else ("RUNNING",)),
                               seconds=seconds_to_start)

    def allocate(self, *options, within=0.0):
        """salloc --no-shell: an allocation tried at once, not at the scheduler's next turn; the Job.

        SlurmError when it is not granted (tried again for `within` seconds, when nodes need a moment). It is also
        refused while a job of higher priority waits: submit those with --hold. Not for CLOUD nodes (salloc waits
        for them to boot)."""
        until = time.monotonic() + within
        while True:
            done = self.try_run("salloc", "--no-shell", "--immediate=1", *options)
            granted = re.search(r"Granted job allocation (\d+)", done.stderr)
            if done.returncode == 0 and granted:
                return self.job(int(granted.group(1)))
            if time.monotonic() >= until:
                raise SlurmError(f"salloc {' '.join(options)}: exit {done.returncode}: {done.stderr.strip()}")
            time.sleep(0.2)

    def cancel(self, *job_ids, wait=True, seconds=30.0):
        if not job_ids:
            return
        self.run("scancel", *map(str, job_ids))
        if wait:
            self.wait_free(seconds, *job_ids)

    def cancel_all(self, seconds=60.0):
        live = [j.id for j in self.jobs().values() if j.state not in ENDED]
        self.cancel(*live, seconds=seconds)

    def wait_free(self, seconds, *job_ids):
        """Until these jobs have ended and given their resources back (COMPLETING is over)."""
        def over():
            jobs = self.jobs()
            return all(jobs[i].state in ENDED for i in job_ids if i in jobs)
        self.until(over, seconds, f"the end of jobs {job_ids}", pause=0.1)

    def update_node(self, node, **what):
        """scontrol update NodeName=… State=DRAIN Reason=…"""
        self.run("scontrol", "update", f"NodeName={node}", *(f"{k}={v}" for k, v in what.items()))

    def drain(self, node):
        self.update_node(node, State="DRAIN", Reason="test")

    def resume(self, node):
        self.update_node(node, State="RESUME")

    def reconfigure(self):
        self.run("scontrol", "reconfigure")

    def sdiag(self):
        return self.run("sdiag")

    # --- logs ---------------------------------------------------------------------------------------------------

    def ctld_log(self):
        """slurmctld's log, with the cluster's folder written as FOLDER."""
        try:
            with open(os.path.join(self.folder, "slurmctld.log"), errors="replace") as f:
                return f.read().replace(self.folder, "FOLDER")
        except OSError:
            return ""

    def slurmd_log(self, name):
        try:
            with open(os.path.join(self.folder, f"slurmd.{name}.log"), errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def log_lines(self, pattern, since=0):
        """Lines of slurmctld's log from byte-character `since` on that match the regular expression."""
        return [line for line in self.ctld_log()[since:].splitlines() if re.search(pattern, line)]

    def log_position(self):
        return len(self.ctld_log())

    def wait_log(self, pattern, since=0, seconds=15.0):
        self.until(lambda: self.log_lines(pattern, since), seconds, f"log line {pattern!r}", self.ctld, pause=0.1)
        return self.log_lines(pattern, since)

    def until(self, holds, seconds, what, daemon=None, pause=0.05):
        until = time.monotonic() + seconds
        while not holds():
            if daemon and not daemon.alive():
                raise SlurmError(f"{daemon.name} ended while waiting for {what}:\n{daemon.said()[-3000:]}")
            if time.monotonic() > until:
                tail = daemon.said()[-3000:] if daemon else ""
                raise SlurmError(f"no sign of {what} after {seconds:.0f} s\n{tail}")
            time.sleep(pause)
