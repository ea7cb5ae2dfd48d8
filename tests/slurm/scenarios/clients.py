# SPDX-License-Identifier: Apache-2.0
"""Slurm's commands with the plugin installed."""

import re

import boards
import parse
from harness import scenario

COMMANDS = (
    ("sinfo",), ("sinfo", "-N", "-l"), ("sinfo", "-o", "%N %G %t"), ("sinfo", "--json"),
    ("squeue",), ("squeue", "-o", "%i %T %N %b"), ("squeue", "--start"), ("squeue", "--json"),
    ("scontrol", "show", "config"), ("scontrol", "show", "nodes"), ("scontrol", "show", "job", "-d"),
    ("scontrol", "show", "partition"), ("scontrol", "show", "topology"), ("scontrol", "ping"),
    ("scontrol", "reconfigure"),
    ("sdiag",), ("sprio",), ("scancel", "--name=nosuchjob"), ("strigger", "--get"),
    ("srun", "-N2", "--gres=gpu:1", "sh", "-c", "echo rank $SLURM_PROCID"),
    ("srun", "-N1", "-n2", "--gpus=2", "--gpus-per-task=1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"),
    ("salloc", "-N1", "--gres=gpu:2", "srun", "sh", "-c", "echo $SLURM_JOB_NUM_NODES $CUDA_VISIBLE_DEVICES"),
    ("salloc", "--quiet", "-N2", "--gpus-per-node=2", "srun", "-n2", "--overlap", "sh", "-c", "echo $SLURM_PROCID"),
    ("sbatch", "--wait", "--output=/dev/null", "--gres=gpu:1", "--wrap", "true"),
    ("sbatch", "--test-only", "--gres=gpu:99", "--wrap", "true"),
)


def _said(done):
    """(exit status, what stands on stderr without numbers)."""
    said = [line for line in done.stderr.splitlines() if "has been revoked" not in line]  # a race in salloc itself
    return done.returncode, re.sub(r"\d+", "#", "\n".join(said).strip())


@scenario("squeue, srun, sinfo, scontrol and the others work with the plugin and say nothing extra on stderr")
def clients(ctx):
    def drive(cluster):
        cluster.start_job("-N1", "--gres=gpu:1")
        out = {}
        for command in COMMANDS:
            done = cluster.try_run(*command, seconds=60)
            out[" ".join(command)] = (_said(done), sorted(done.stdout.split()) if command[0] in ("srun", "salloc") else
                                      bool(done.stdout))
        out["slurmd"] = ((0, "\n".join(sorted(
            {line.partition("] ")[2].partition("error: ")[2] for name in cluster.slurmds
             for line in cluster.slurmd_log(name).splitlines() if "error:" in line}))), True)
        return out
    stock, atoll = ctx.both(boards.bridged(2), drive)
    for command, (said, output) in stock.items():
        if said[0] or said[1]:
            ctx.say(f"stock {command}: exit {said[0]} {said[1]!r}")
        if atoll is None:
            continue
        ours, our_output = atoll[command]
        ctx.expect_equal(ours, said, f"{command}: exit status and stderr")
        alike = type(our_output) is type(output) and bool(our_output) == bool(output)
        ctx.expect(alike, f"{command}: output {our_output}")
    if atoll is not None:
        ctx.say(f"{len(stock)} commands compared with stock")


@scenario("srun's tasks see the GPUs that slurmctld wrote down")
def tasks_see_gpus(ctx):
    with ctx.atoll(boards.bridged(2)) as cluster:
        cluster.allocate("-N1", "-w", "g1", "--gres=gpu:1")
        done = cluster.try_run("salloc", "-N2", "--gpus-per-node=2", "sh", "-c",
                               "scontrol -o show job -d $SLURM_JOB_ID; "
                               "srun sh -c 'echo TASK $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'")
        job = parse.parse_job(done.stdout.splitlines()[0])
        seen = {line.split()[1]: [int(x) for x in line.split()[2].split(",")]
                for line in done.stdout.splitlines() if line.startswith("TASK")}
        ctx.say(f"slurmctld {job.gpus}, tasks {seen}")
        ctx.expect_equal(seen, job.gpus, "CUDA_VISIBLE_DEVICES on each node")
        ctx.expect(all(boards.is_bridged(g) for g in job.gpus.values()), f"bridged pairs: {job.gpus}")
