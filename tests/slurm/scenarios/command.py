# SPDX-License-Identifier: Apache-2.0
"""The whole way once: topology text or a simulated calibration through the atoll command into slurmctld."""

import os
import subprocess
import tempfile

import boards
from cluster import SlurmError
from harness import NotHere, scenario


def topo_m(layout):
    """The layout as `nvidia-smi topo -m` would print it."""
    names = [f"GPU{g}" for g in range(layout.gpus)]
    lines = ["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"]
    for a in range(layout.gpus):
        near = layout.cores_of_gpu(a)
        cells = [" X " if a == b else boards.link_name(layout, a, b) for b in range(layout.gpus)]
        numa = near[0] // layout.cores_per_socket
        lines.append("\t".join([names[a], *cells, f"{near[0]}-{near[-1]}", str(numa), "", "N/A"]))
    return "\n".join(lines) + "\n"


def topology_conf(layout):
    leaves = layout.leaf_list()
    lines = [f"SwitchName=leaf{i + 1} Nodes={','.join(names)}" for i, names in enumerate(leaves)]
    lines.append(f"SwitchName=root Switches=leaf[1-{len(leaves)}]")
    return "\n".join(lines) + "\n"


def _atoll(ctx, folder, *argv):
    done = subprocess.run([ctx.atoll_program, *argv], cwd=folder, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    ctx.expect_equal(done.returncode, 0, f"atoll {' '.join(argv)}: {done.stderr.strip()}: exit status")
    if done.returncode:
        raise SlurmError(f"atoll {argv[0]} failed")
    return done.stdout


def _made(ctx, layout, node_file_commands):
    """The text of a cluster file that the command made of a node file and topology.conf."""
    if not ctx.atoll_program:
        raise NotHere("no atoll command built; give --atoll PATH")
    with tempfile.TemporaryDirectory(prefix="atoll-slurm-files-") as folder:
        with open(os.path.join(folder, "topo.txt"), "w") as f:
            f.write(topo_m(layout))
        with open(os.path.join(folder, "topology.conf"), "w") as f:
            f.write(topology_conf(layout))
        for argv in node_file_commands:
            _atoll(ctx, folder, *argv)
        _atoll(ctx, folder, "merge", "--hosts", f"g[1-{layout.nodes}]=node.json", "--fabric", "topology.conf",
               "-o", "cluster.yaml")
        _atoll(ctx, folder, "validate", "cluster.yaml")
        with open(os.path.join(folder, "cluster.yaml")) as f:
            return f.read()


@scenario("nvidia-smi topo -m and topology.conf through atoll import and merge: bridges and leaves hold")
def imported(ctx):
    layout = boards.two_leaves(8, links=boards.BRIDGES)
    text = _made(ctx, layout, [("import", "topo.txt", "-o", "node.json")])
    with ctx.atoll(layout, cluster_file=text, allow_simulated=False) as cluster:
        ctx.expect_equal(cluster.log_lines(r"error:.*[Aa]toll"), [], "error lines")
        singles = [cluster.allocate("-N1", "--gres=gpu:1") for _ in range(2)]
        pair = [g for j in singles for g in j.gpus[j.nodes[0]]]
        wide = cluster.allocate("-N4", "--gpus-per-node=8")
        ctx.say(f"two single GPUs on {[j.gpus for j in singles]}, four nodes on {wide.nodes}")
        ctx.expect(singles[0].nodes == singles[1].nodes and boards.is_bridged(pair), "two singles share a bridge")
        ctx.expect(len(boards.leaves_of(layout, wide.nodes)) == 1, "four nodes under one leaf")


@scenario("a simulated calibration: refused unless allow_simulated, then in force")
def simulated(ctx):
    layout = boards.two_leaves(4)
    text = _made(ctx, layout, [("calibrate", "--simulate", "dgx-h100", "-o", "node.json")])
    with ctx.atoll(layout, cluster_file=text, allow_simulated=False) as cluster:
        loud = cluster.log_lines(r"error:.*[Aa]toll")
        ctx.say(loud[0].partition("] ")[2] if loud else "no line")
        if ctx.expect_equal(len(loud), 1, "error lines without allow_simulated"):
            ctx.expect("allow_simulated" in loud[0], f"the line names the remedy: {loud[0]}")
        ctx.expect_equal(cluster.allocate("-N1", "--gres=gpu:2").gpu_count, 2, "GPUs of a job then")
    with ctx.atoll(layout, cluster_file=text, allow_simulated=True) as cluster:
        ctx.expect_equal(cluster.log_lines(r"error:.*[Aa]toll"), [], "error lines with allow_simulated")
        cluster.allocate("-N1", "-w", "g1", "--gres=gpu:1")
        small = cluster.allocate("-N1", "--gres=gpu:3")
        wide = cluster.allocate("-N2", "--gpus-per-node=8")
        ctx.say(f"one GPU on g1, then 3 GPUs on {small.nodes}, then two nodes {wide.nodes}")
        ctx.expect_equal(small.nodes, ["g1"], "a small job goes to the node that is broken already")
        ctx.expect(len(boards.leaves_of(layout, wide.nodes)) == 1, "two nodes under one leaf")
