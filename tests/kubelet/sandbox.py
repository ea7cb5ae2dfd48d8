# SPDX-License-Identifier: Apache-2.0
"""A node for one kubelet: own mount, network and process namespaces, containerd, and a busybox image made by hand."""
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from pathlib import Path

SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops")
IMAGE = "registry.local/test:1"
PAUSE = "registry.local/pause:1"


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def wait_for(what, condition, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        got = condition()
        if got:
            return got
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds} s")


def image_archive(busybox, path):
    """A docker archive with busybox and its links under two names."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for folder in ("bin", "tmp", "dev", "proc", "sys", "etc", "out"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        data = Path(busybox).read_bytes()
        entry = tarfile.TarInfo("bin/busybox")
        entry.size, entry.mode = len(data), 0o755
        tar.addfile(entry, io.BytesIO(data))
        for name in ("sh", "sleep", "env", "cat", "ls", "mv"):
            entry = tarfile.TarInfo("bin/" + name)
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    import hashlib

    blob = layer.getvalue()
    config = json.dumps({
        "architecture": "amd64", "os": "linux",
        "config": {"Cmd": ["/bin/sleep", "1000000"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(blob).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [IMAGE, PAUSE], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as tar:
        for name, data in (("config.json", config), ("layer.tar", blob), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


class Sandbox:
    """Everything below `work`; call from a process that is first in its own namespaces (see `run`)."""

    def __init__(self, work, parts):
        self.work, self.parts = Path(work), Path(parts)
        self.path = f"{self.parts}/root/usr/bin:{self.parts}/root/usr/sbin:{os.environ['PATH']}"
        self.processes = {}
        self.saved = {name: Path("/proc/sys", name).read_text() for name in SYSCTLS}
        mount("--make-rprivate", "/")
        for folder in ("/var/lib", "/var/log"):
            mount("-t", "tmpfs", "tmpfs", folder)
        mount("--make-rshared", "/")
        for folder in ("/var/lib/kubelet", self.work / "pods", self.work / "out"):
            Path(folder).mkdir(parents=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # The kubelet wants an address that is not the loopback's: one on it, which leads nowhere.
        subprocess.run(["ip", "address", "add", "10.111.0.1/24", "dev", "lo"], check=True)
        subprocess.run(["ip", "route", "add", "default", "via", "10.111.0.2", "dev", "lo", "onlink"], check=False)

    def start(self, name, command, **environment):
        log = open(self.work / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen(
            [str(c) for c in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env={"PATH": self.path, "HOME": str(self.work), **environment})
        return self.processes[name]

    def stop(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name, None)
        if process is None:
            return None
        process.send_signal(how)
        try:
            return process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait(20)

    def start_containerd(self):
        base = self.work / "containerd"
        base.mkdir()
        self.socket = base / "containerd.sock"
        (base / "config.toml").write_text(f'''version = 2
root = "{base}/root"
state = "{base}/state"
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_tcp_service = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{base}/none"
    conf_dir = "{base}/none"
''')
        self.start("containerd", ["containerd", "--config", base / "config.toml"])
        wait_for("containerd", self.socket.exists)
        image_archive(self.parts / "root/bin/busybox", self.work / "image.tar")

        def imported():
            return subprocess.run(["ctr", "--address", self.socket, "-n", "k8s.io", "images", "import", "--no-unpack",
                                   self.work / "image.tar"], env={"PATH": self.path}, capture_output=True).returncode == 0
        wait_for("image import", imported, 30)

    def start_kubelet(self, policy="none"):
        config = self.work / "kubelet.yaml"
        config.write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs",
            "address": "127.0.0.1", "readOnlyPort": 10255, "port": 10250, "healthzBindAddress": "127.0.0.1",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "failSwapOn": False, "makeIPTablesUtilChains": False,
            "staticPodPath": str(self.work / "pods"), "fileCheckFrequency": "1s", "syncFrequency": "5s",
            "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100, "topologyManagerPolicy": policy, "cpuManagerPolicy": "none",
            "shutdownGracePeriod": "0s"}))
        self.start("kubelet", [self.parts / "kubelet", f"--config={config}", "--container-runtime=remote",
                               f"--container-runtime-endpoint=unix://{self.socket}", "--hostname-override=node1",
                               "--node-ip=10.111.0.1", "--root-dir=/var/lib/kubelet", "--runtime-cgroups=/",
                               "--kubelet-cgroups=/", "--v=2"])
        wait_for("kubelet.sock", lambda: Path("/var/lib/kubelet/device-plugins/kubelet.sock").exists())

    def pods(self):
        try:
            with urllib.request.urlopen("http://127.0.0.1:10255/pods", timeout=5) as answer:
                items = json.load(answer).get("items") or []
        except (urllib.error.URLError, OSError, ValueError):
            return {}
        return {item["metadata"]["name"].removesuffix("-node1"): item["status"] for item in items}

    def close(self):
        for manifest in (self.work / "pods").glob("*.json"):
            manifest.unlink()
        for name in ("plugin", "kubelet"):
            self.stop(name)
        for pid in [int(p) for p in os.listdir("/proc") if p.isdigit()]:
            if pid not in (1, os.getpid(), self.processes["containerd"].pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        time.sleep(0.5)
        self.stop("containerd", signal.SIGKILL)
        for name, value in self.saved.items():
            Path("/proc/sys", name).write_text(value)
        for top in [Path("/sys/fs/cgroup/kubepods"), *Path("/sys/fs/cgroup").glob("*/kubepods")]:
            for folder, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
        shutil.rmtree(self.work / "containerd" / "root", ignore_errors=True)
