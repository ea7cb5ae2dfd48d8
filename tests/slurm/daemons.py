# SPDX-License-Identifier: Apache-2.0
"""Child processes that cannot outlive the test.

A daemon runs in the foreground of its own session. It dies when its parent dies (PR_SET_PDEATHSIG),
when stop_all() runs, and whatever it left behind is found by a mark in its environment: every process
started for a cluster carries ATOLL_TEST_CLUSTER=<its folder>, also slurmstepd and the jobs themselves.
"""

import ctypes
import os
import signal
import socket
import subprocess
import time

MARK = "ATOLL_TEST_CLUSTER"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def before_exec():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


class Daemon:
    """One process started by us; its output goes to a file of the cluster's folder."""

    def __init__(self, name, argv, env, output):
        self.name = name
        self.output = output
        with open(output, "ab") as out:
            self.process = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True, preexec_fn=before_exec, cwd=os.path.dirname(output))

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.alive():
            self.process.send_signal(number)

    def wait(self, seconds):
        """True once it has ended."""
        try:
            self.process.wait(timeout=seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def said(self):
        try:
            with open(self.output, errors="replace") as f:
                return f.read()
        except OSError:
            return ""


def stop_all(daemons, seconds=5.0):
    """Asks all at once, then kills what is left; by pid only."""
    for d in daemons:
        d.signal(signal.SIGTERM)
    until = time.monotonic() + seconds
    for d in daemons:
        if not d.wait(max(0.05, until - time.monotonic())):
            d.signal(signal.SIGKILL)
            d.wait(2.0)


def marked(folder):
    """Pids of all processes that carry the folder's mark, but for this process."""
    wanted = f"{MARK}={folder}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                if wanted in f.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            pass  # gone, or not ours to read
    return found


def kill_marked(folder, seconds=3.0):
    """Kills every process that carries the folder's mark; returns those that would not die."""
    until = time.monotonic() + seconds
    left = marked(folder)
    while left and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
        left = [p for p in marked(folder) if not _is_zombie(p)]
    return left


def adopt_orphans():
    """Makes this process the parent of daemons' orphans (slurmstepd), so that reap_orphans() can end them."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    """Buries dead slurmstepds and what they left; a bare container's init often does not."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            name, state, parent = _stat(entry)
            if state == "Z" and parent == os.getpid() and name in ("slurmstepd", "slurm_script", "sleep", "sh"):
                try:
                    os.waitpid(int(entry), os.WNOHANG)
                except ChildProcessError:
                    pass


def _stat(pid):
    """(name, state letter, parent) of a process; a vanished one looks like a zombie of nobody."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            head, _, tail = f.read().rpartition(")")
        state, parent = tail.split()[:2]
        return head.partition("(")[2], state, int(parent)
    except (OSError, ValueError):
        return "", "Z", 0


def _is_zombie(pid):
    return _stat(pid)[1] == "Z"


def free_ports(count, low=20000, high=32000):
    """A run of `count` ports on which nobody listens, below the range of outgoing connections."""
    rng = int.from_bytes(os.urandom(4), "little")
    for attempt in range(200):
        base = low + (rng + attempt * 97) % (high - low - count)
        held = []
        try:
            for port in range(base, base + count):
                s = socket.socket()
                held.append(s)
                s.bind(("0.0.0.0", port))
            return list(range(base, base + count))
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise RuntimeError(f"no {count} free ports in a row between {low} and {high}")
