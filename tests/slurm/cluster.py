# SPDX-License-Identifier: Apache-2.0
"""A real Slurm cluster on loopback in a temp folder: munged, slurmctld and slurmds.

    with SlurmCluster(Layout(nodes=4)) as stock:
        job = stock.submit("-N1", "--gres=gpu:2")
        stock.wait_state(job, "RUNNING")
        print(stock.job(job).gpus)            # {'g1': [0, 1]}

    with SlurmCluster(Layout(nodes=4), plugin="build/lib/select_cons_tres_atoll.so",
                      cluster_file=text) as atoll: …

Nothing outside the folder is touched and nothing is left running: daemons die with this process, and
on leaving the context all that carries the cluster's mark is killed by pid. Every wait is bounded.
Needs root (mknod, and jobs of any user), but no systemd and no user `slurm`.
"""

import atexit
import os
import shutil
import signal
import socket
import tempfile
import threading
import time

import daemons as proc
from commands import ENDED, Commands, SlurmError, program
from conf import Layout, make_devices, system_plugin_dir, write_conf

__all__ = ["ENDED", "Layout", "SlurmCluster", "SlurmError", "missing_for_slurm"]


def missing_for_slurm():
    """What keeps a cluster from starting here, in words; [] when nothing does."""
    out = [f"no {name} (package {package})" for name, package in
           (("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("sbatch", "slurm-client"))
           if not program(name)]
    if not out and not system_plugin_dir():
        out.append("no select_cons_tres.so (package slurm-wlm-basic-plugins)")
    if os.geteuid() != 0:
        out.append("no root (mknod for the fake GPUs, slurmd)")
    else:
        try:
            with tempfile.TemporaryDirectory(prefix="atoll-slurm-probe-") as folder:
                make_devices(folder, 1)
        except OSError as error:
            out.append(f"mknod is refused here ({error.strerror}); the container needs CAP_MKNOD")
    return out


class SlurmCluster(Commands):
    """layout: what the nodes look like. plugin: path of select_cons_tres_atoll.so, or None for stock.

    cluster_file: text (str or bytes) of the cluster file, a path-like with `os.PathLike`, or None: no file
    atoll_conf:   text of atoll.yaml; None: written from cluster_file; "": no atoll.yaml at all
    spank:        arguments of spank_atoll.so in plugstack.conf (it lies beside the plugin), "" too; None: without it
    keep:         leave the folder behind (never the processes)
    """

    START_SECONDS = 30.0

    def __init__(self, layout=None, plugin=None, cluster_file=None, atoll_conf=None, allow_simulated=True,
                 keep=False, folder=None, verbose=False, spank=None):
        self.layout = layout or Layout()
        self.plugin = os.path.abspath(plugin) if plugin else None
        self.cluster_file_ = cluster_file
        self.atoll_conf_ = atoll_conf
        self.allow_simulated = allow_simulated
        self.spank = spank
        self.keep = keep
        self.verbose = verbose
        self.parent = folder
        self.folder = None
        self.munged = self.ctld = None
        self.slurmds = {}
        self.started_in = 0.0
        self._old_handlers = {}

    # --- life ---------------------------------------------------------------------------------------------------

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        lacking = missing_for_slurm()
        if self.plugin and not os.path.isfile(self.plugin):
            lacking.append(f"no plugin at {self.plugin}")
        if lacking:
            raise SlurmError("cannot start a cluster: " + "; ".join(lacking))
        self._catch_signals()
        proc.adopt_orphans()
        atexit.register(self.stop)
        begin = time.monotonic()
        try:
            for attempt in range(3):
                self._make_folder()
                try:
                    self._start_daemons()
                    break
                except SlurmError as error:
                    taken = "already in use" in str(error) or "already in use" in self.ctld_log()
                    self._kill_all()
                    if attempt == 2 or not taken:
                        raise
                    shutil.rmtree(self.folder, ignore_errors=True)
        except BaseException:
            self.stop()
            raise
        self.started_in = time.monotonic() - begin
        return self

    def stop(self):
        """Ends everything; may be called twice."""
        atexit.unregister(self.stop)
        if self.folder:
            left = self._kill_all()
            if not self.keep:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None
            if left:
                raise SlurmError(f"processes {left} survived SIGKILL")
        self._restore_signals()

    def _kill_all(self):
        proc.stop_all([d for d in [*self.slurmds.values(), self.ctld] if d])
        proc.stop_all([self.munged] if self.munged else [])
        self.slurmds, self.ctld, self.munged = {}, None, None
        left = proc.kill_marked(self.folder)
        proc.reap_orphans()
        return left

    def _catch_signals(self):
        """SIGTERM and SIGHUP end the test like an exception, so that contexts unwind."""
        if threading.current_thread() is not threading.main_thread():
            return
        def leave(number, _):
            raise SystemExit(128 + number)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                self._old_handlers[number] = signal.signal(number, leave)

    def _restore_signals(self):
        for number, old in self._old_handlers.items():
            signal.signal(number, old)
        self._old_handlers = {}

    def _make_folder(self):
        self.folder = tempfile.mkdtemp(prefix="atoll-slurm-", dir=self.parent)
        os.chmod(self.folder, 0o755)
        for name in ("state", "munge", "plugins", "out"):
            os.makedirs(os.path.join(self.folder, name), mode=0o755)
        os.chmod(os.path.join(self.folder, "out"), 0o777)
        for name in self.layout.all_names() if not self.layout.cloud else ():
            os.makedirs(os.path.join(self.folder, "spool", name), mode=0o755)
        make_devices(os.path.join(self.folder, "dev"), self.layout.gpus)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SQUEUE", "SINFO", "SCANCEL", "ATOLL"))}
        self.env.update({
            "SLURM_CONF": os.path.join(self.folder, "slurm.conf"),
            proc.MARK: self.folder,
            "ATOLL_CONF": os.path.join(self.folder, "atoll.yaml"),
            "TZ": "UTC", "LC_ALL": "C.UTF-8"})

    def _start_daemons(self):
        self._write_plugin_files()
        host = socket.gethostname().split(".")[0]
        count = 0 if self.layout.cloud else len(self.layout.all_names())
        ports = proc.free_ports(1 + count)
        dirs = [os.path.join(self.folder, "plugins")] if self.plugin else []
        write_conf(self.folder, self.layout, host, ports[0], ports[1:], [*dirs, system_plugin_dir()],
                   "select/cons_tres_atoll" if self.plugin else "select/cons_tres", self._munge("socket"), "root")
        self._start_munged()
        self._start_ctld("-c")
        for name in self.layout.all_names() if count else ():
            self._start_slurmd(name)
        self._wait_for_nodes()

    def _munge(self, name):
        return os.path.join(self.folder, "munge", name)

    def _start_munged(self):
        with open(self._munge("key"), "wb") as key:
            os.fchmod(key.fileno(), 0o400)
            key.write(os.urandom(128))
        self.munged = proc.Daemon("munged", [
            program("munged"), "--foreground", "--num-threads=4",
            *(f"--{what}={self._munge(file)}" for what, file in
              (("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"),
               ("seed-file", "seed")))], self.env, self._munge("out"))
        self.until(lambda: os.path.exists(self._munge("socket")), self.START_SECONDS, "munged's socket", self.munged)

    def _start_ctld(self, *options):
        self.ctld = proc.Daemon("slurmctld", [program("slurmctld"), "-D", *options], self.env,
                                os.path.join(self.folder, "slurmctld.out"))
        self.until(lambda: self.try_run("scontrol", "ping", seconds=5).stdout.find(" UP") >= 0,
                    self.START_SECONDS, "slurmctld's answer", self.ctld)

    def _start_slurmd(self, name):
        self.slurmds[name] = proc.Daemon(f"slurmd {name}", [program("slurmd"), "-D", "-N", name], self.env,
                                         os.path.join(self.folder, f"slurmd.{name}.out"))

    def _wait_for_nodes(self):
        """Until every slurmd has registered (after a restart of slurmctld too: it uses no node before)."""
        def ready():
            return all(n.fields.get("SlurmdStartTime", "None") != "None" and not n.state & {"UNKNOWN", "NOT_RESPONDING"}
                       for n in self.nodes().values())
        def alive_and_ready():
            for daemon in self.slurmds.values():
                if not daemon.alive():
                    raise SlurmError(f"{daemon.name} ended:\n{daemon.said()[-3000:]}")
            return ready()
        if not self.layout.cloud:
            self.until(alive_and_ready, self.START_SECONDS, "the slurmds' registration", self.ctld)

    def stop_ctld(self, number=signal.SIGTERM, seconds=30.0):
        self.ctld.signal(number)
        if not self.ctld.wait(seconds):
            raise SlurmError(f"slurmctld did not end on signal {number} in {seconds} s")

    def restart_ctld(self, number=signal.SIGTERM):
        """Ends slurmctld (SIGTERM, or SIGKILL for a crash) and starts it again from its saved state."""
        self.stop_ctld(number)
        self.start_ctld()

    def start_ctld(self):
        """Starts a stopped slurmctld from its saved state; waits until its nodes have registered again (about 5 s)."""
        self._start_ctld()
        self._wait_for_nodes()

    def set_select(self, select_type):
        """Changes SelectType in slurm.conf; slurmctld takes it with its next start, saved jobs and all."""
        with open(self.env["SLURM_CONF"]) as f:
            lines = f.read().splitlines()
        with open(self.env["SLURM_CONF"], "w") as f:
            f.write("\n".join(f"SelectType={select_type}" if line.startswith("SelectType=") else line
                              for line in lines) + "\n")

    # --- Atoll's own files --------------------------------------------------------------------------------------

    @property
    def cluster_path(self):
        return os.path.join(self.folder, "cluster.yaml")

    @property
    def atoll_conf_path(self):
        return self.env["ATOLL_CONF"]

    def write_cluster_file(self, content):
        """Replaces the cluster file (atomically, as `atoll merge` does); None removes it."""
        if content is None:
            if os.path.exists(self.cluster_path):
                os.remove(self.cluster_path)
            return
        if isinstance(content, os.PathLike):
            with open(content, "rb") as f:
                content = f.read()
        with open(self.cluster_path + ".new", "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        os.replace(self.cluster_path + ".new", self.cluster_path)

    def write_atoll_conf(self, text):
        """Replaces atoll.yaml; "" removes it."""
        if text:
            with open(self.atoll_conf_path, "w") as f:
                f.write(text)
        elif os.path.exists(self.atoll_conf_path):
            os.remove(self.atoll_conf_path)

    def default_atoll_conf(self):
        return f"cluster_file: {self.cluster_path}\nallow_simulated: {'true' if self.allow_simulated else 'false'}\n"

    def _write_plugin_files(self):
        if not self.plugin:
            return
        os.symlink(self.plugin, os.path.join(self.folder, "plugins", "select_cons_tres_atoll.so"))
        if self.spank is not None:
            with open(os.path.join(self.folder, "plugstack.conf"), "w") as f:
                f.write(f"optional {os.path.dirname(self.plugin)}/spank_atoll.so {self.spank}\n")
        self.write_cluster_file(self.cluster_file_)
        self.write_atoll_conf(self.default_atoll_conf() if self.atoll_conf_ is None else self.atoll_conf_)
