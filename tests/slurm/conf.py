# SPDX-License-Identifier: Apache-2.0
"""What a test cluster looks like (Layout) and the configuration files Slurm gets for it."""

import dataclasses
import os
import stat
import subprocess


@dataclasses.dataclass
class Layout:
    """The hardware that the cluster claims to have.

    nodes      names are g1 … gN
    plain      so many nodes more, c1 … cN, have no GPUs
    links      GPU pairs joined by an NVLink bridge; written as Links= of gres.conf when stock_links
    leaves     node names of each leaf switch; None: one leaf with all nodes (topology/tree either way,
               one root above the leaves)
    cloud      nodes of State=CLOUD with no slurmd: they count as free, jobs on them stay CONFIGURING
    """
    nodes: int = 4
    plain: int = 0
    gpus: int = 8
    gpu_type: str = ""
    sockets: int = 2
    cores_per_socket: int = 16
    threads: int = 1
    memory_mb: int = 64000
    links: tuple = ()
    stock_links: bool = True
    gres_cores: str = "near"  # Cores= of each GPU in gres.conf: "near" its socket, "all" cores, "" no Cores=
    leaves: list = None
    weights: dict = None  # node name → Slurm's Weight (lower is taken first)
    cloud: bool = False
    partitions: tuple = ("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",)
    slurm_conf: tuple = ()  # further lines; one with the same key replaces ours
    scheduler: str = "batch_sched_delay=0,sched_interval=2,bf_interval=2,bf_continue,bf_window=1440"

    def names(self):
        """The nodes with GPUs."""
        return [f"g{i + 1}" for i in range(self.nodes)]

    def all_names(self):
        return self.names() + [f"c{i + 1}" for i in range(self.plain)]

    def leaf_list(self):
        return self.leaves if self.leaves else [self.all_names()]

    def cores_of_gpu(self, gpu):
        """Core numbers of the socket that GPU hangs on: GPUs are shared out over sockets in order."""
        socket = gpu * self.sockets // self.gpus
        first = socket * self.cores_per_socket
        return range(first, first + self.cores_per_socket)

    def links_row(self, gpu):
        joined = {frozenset(p) for p in self.links}
        return ["-1" if other == gpu else "4" if frozenset((gpu, other)) in joined else "0"
                for other in range(self.gpus)]


def system_plugin_dir():
    """Where the packaged slurmctld keeps its plugins; None when it is not to be found."""
    try:
        listed = subprocess.run(["dpkg", "-L", "slurm-wlm-basic-plugins"], capture_output=True, text=True, timeout=20)
        for line in listed.stdout.splitlines():
            if line.endswith("/select_cons_tres.so"):
                return os.path.dirname(line)
    except (OSError, subprocess.TimeoutExpired):
        pass
    for top in ("/usr/lib", "/usr/local/lib", "/usr/lib64"):
        for folder, _, files in os.walk(top):
            if "select_cons_tres.so" in files:
                return folder
    return None


def make_devices(folder, count):
    """Character devices that stand for GPUs (a copy of /dev/null's numbers: harmless to open).
    PermissionError without root."""
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        os.mknod(os.path.join(folder, f"gpu{i}"), stat.S_IFCHR | 0o666, os.makedev(1, 3))


def write_conf(folder, layout, host, ctld_port, slurmd_ports, plugin_dirs, select_type, munge_socket, user):
    """Writes slurm.conf, gres.conf, topology.conf and cgroup.conf into `folder`; returns slurm.conf's path."""
    lines = _slurm_conf(folder, layout, host, ctld_port, slurmd_ports, plugin_dirs, select_type, munge_socket, user)
    _write(folder, "slurm.conf", _override(lines, layout.slurm_conf))
    _write(folder, "gres.conf", _gres_conf(folder, layout))
    _write(folder, "topology.conf", _topology_conf(layout))
    _write(folder, "cgroup.conf", ["CgroupPlugin=cgroup/v1", "IgnoreSystemd=yes"])
    return os.path.join(folder, "slurm.conf")


def _write(folder, name, lines):
    with open(os.path.join(folder, name), "w") as f:
        f.write("\n".join(lines) + "\n")


def _override(lines, more):
    keys = {line.split("=", 1)[0].lower() for line in more}
    return [line for line in lines if line.split("=", 1)[0].lower() not in keys] + list(more)


def _slurm_conf(folder, layout, host, ctld_port, slurmd_ports, plugin_dirs, select_type, munge_socket, user):
    lines = [
        "ClusterName=atolltest",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={ctld_port}",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        f"PluginDir={':'.join(plugin_dirs)}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={munge_socket}",
        "CredType=cred/munge",
        f"SelectType={select_type}",
        "SelectTypeParameters=CR_Core",
        "TopologyPlugin=topology/tree",
        "GresTypes=gpu",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "MpiDefault=none",
        "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none",
        "MailProg=/bin/true",
        "PriorityType=priority/basic",
        "SchedulerType=sched/backfill",
        f"SchedulerParameters={layout.scheduler}",
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        "KillWait=1",
        "MinJobAge=86400",
        "MaxJobCount=200000",
        "MessageTimeout=30",
        "SlurmdTimeout=120",
        "SlurmctldTimeout=120",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool/%n",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/slurmd.%n.log",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.%n.pid",
        "SlurmctldDebug=verbose",
        "SlurmdDebug=info",
        "TreeWidth=65533",
    ]
    cpus = layout.sockets * layout.cores_per_socket * layout.threads
    typed = f"gpu:{layout.gpu_type}:{layout.gpus}" if layout.gpu_type else f"gpu:{layout.gpus}"
    shape = (f"CPUs={cpus} Sockets={layout.sockets} CoresPerSocket={layout.cores_per_socket} "
             f"ThreadsPerCore={layout.threads} RealMemory={layout.memory_mb}")
    weights = layout.weights or {}
    if layout.cloud:
        lines += ["SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=INFINITE",
                  "ResumeTimeout=3600", "SlurmctldParameters=idle_on_node_suspend", "PrivateData=cloud"]
        lines.append(f"NodeName=g[1-{layout.nodes}] NodeAddr=127.0.0.1 {shape} Gres={typed} State=CLOUD")
    else:
        for name, port in zip(layout.all_names(), slurmd_ports):
            gres = f" Gres={typed}" if name in layout.names() else ""
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {shape}{gres} "
                         f"Weight={weights.get(name, 1)} State=UNKNOWN")
    return lines + list(layout.partitions)


def _gres_conf(folder, layout):
    kind = f" Type={layout.gpu_type}" if layout.gpu_type else ""
    lines = ["AutoDetect=off"]
    for gpu in range(layout.gpus):
        cores = layout.cores_of_gpu(gpu)
        links = f" Links={','.join(layout.links_row(gpu))}" if layout.links and layout.stock_links else ""
        told = {"near": f" Cores={cores[0]}-{cores[-1]}",
                "all": f" Cores=0-{layout.sockets * layout.cores_per_socket - 1}", "": ""}[layout.gres_cores]
        lines.append(f"NodeName=g[1-{layout.nodes}] Name=gpu{kind} File={folder}/dev/gpu{gpu}{told}{links}")
    return lines


def _topology_conf(layout):
    leaves = layout.leaf_list()
    lines = [f"SwitchName=leaf{i + 1} Nodes={','.join(names)}" for i, names in enumerate(leaves)]
    if len(leaves) > 1:
        lines.append(f"SwitchName=root Switches={','.join(f'leaf{i + 1}' for i in range(len(leaves)))}")
    return lines
