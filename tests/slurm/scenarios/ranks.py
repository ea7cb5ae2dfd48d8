# SPDX-License-Identifier: Apache-2.0
"""`atoll ranks`: the order of a job's ranks, and programs that start in that order."""

import json
import os
import re
import subprocess

import boards
from commands import SlurmError, program
from harness import NotHere, scenario

# Two leaves of two, nodes dealt alternately: by the fabric g1 and g3 stand together, and g2 and g4.
BY_FABRIC = ["g1", "g3", "g2", "g4"]


def need(ctx):
    if not ctx.atoll_program:
        raise NotHere("no atoll command built; give --atoll PATH")


def ranks(ctx, cluster, *argv, env=None):
    """`atoll ranks` on the cluster's file; its standard output."""
    done = subprocess.run([ctx.atoll_program, "ranks", cluster.cluster_path, *argv], capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL, env={**cluster.env, **(env or {})})
    if done.returncode:
        raise SlurmError(f"atoll ranks {' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def batch(cluster, body, *options):
    """Runs a batch script to its end; what it printed."""
    path = os.path.join(cluster.folder, "out", "batch.txt")
    if os.path.exists(path):
        os.remove(path)
    job = cluster.submit(f"--output={path}", *options, script="#!/bin/bash\n" + body)
    ended = cluster.wait_state(job, "ENDED", seconds=90)
    with open(path, errors="replace") as f:
        said = f.read()
    if ended.state != "COMPLETED":
        raise SlurmError(f"the batch script ended as {ended.state}: {said}")
    return said


def places(text):
    """"rank 3 g1 …" lines in rank order: what follows the number."""
    found = re.findall(r"^rank (\d+) (.*)$", text, re.M)
    return [place for _, place in sorted(found, key=lambda f: int(f[0]))]


@scenario("atoll ranks for a job: srun -m arbitrary starts the ranks there, equal on every node, by number as well")
def rank_order(ctx):
    need(ctx)
    layout = boards.two_leaves(4, links=boards.BRIDGES)
    with ctx.atoll(layout) as cluster:
        atoll = f"{ctx.atoll_program} ranks {cluster.cluster_path}"
        said = batch(cluster, f"""
            {atoll} --format slurm -o hosts || exit 1
            SLURM_HOSTFILE=$PWD/hosts srun -n32 -m arbitrary --overlap sh -c \
                'echo rank $SLURM_PROCID $SLURMD_NODENAME'
            srun --ntasks-per-node=1 -n4 --overlap sh -c \
                'echo sum $({atoll} --format openmpi | md5sum | cut -c1-32)'
            """, "-N4", "--ntasks-per-node=8", "--gpus-per-node=8")
        got = places(said)
        ctx.say("ranks started on " + " ".join(sorted(set(got), key=got.index)))
        ctx.expect_equal(got, [n for n in BY_FABRIC for _ in range(8)], "hosts of the 32 ranks of srun")
        sums = re.findall(r"sum (\w+)", said)
        ctx.expect(len(sums) == 4 and len(set(sums)) == 1, f"four nodes find the same order: {sums}")

        job = cluster.start_job("-N3", "-w", "g1,g2,g3", "--gpus-per-node=4", "-n12")
        by_number = ranks(ctx, cluster, "--job", str(job.id), "--format", "slurm").split()
        ctx.expect_equal(by_number, [n for n in ("g1", "g3", "g2") for _ in range(4)], "hosts by job number")
        table = ranks(ctx, cluster, "--job", str(job.id), "--json")
        told = {n["name"]: n["gpus"] for n in json.loads(table)["nodes"]}
        ctx.expect_equal(told, job.gpus, "GPUs by job number, as scontrol shows them")
        here = ranks(ctx, cluster, "--format", "slurm",
                     env={"SLURM_JOB_ID": str(job.id), "SLURM_JOB_NODELIST": "g[1-3]"}).split()
        ctx.expect_equal(here, by_number, "inside the job, where no variable tells the other nodes' GPUs")
        done = subprocess.run([ctx.atoll_program, "ranks", cluster.cluster_path, "--job", "999999"],
                              capture_output=True, text=True, timeout=60, env=cluster.env)
        ctx.say(done.stderr.strip())
        ctx.expect(done.returncode == 3 and "999999" in done.stderr, "a job that Slurm does not know: exit 3, and said")


@scenario("atoll ranks: Open MPI's ranks start on the nodes and in the order of the rank file")
def open_mpi(ctx):
    need(ctx)
    if not program("mpirun"):
        raise NotHere("no mpirun (package openmpi-bin)")
    cores = max(1, min(2, len(os.sched_getaffinity(0))))  # Open MPI binds: the cores must be there
    layout = boards.two_leaves(4, gpus=cores, sockets=1, cores_per_socket=cores)
    with ctx.atoll(layout) as cluster:
        said = batch(cluster, f"""
            export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
            {ctx.atoll_program} ranks {cluster.cluster_path} --format openmpi -o ranks.txt || exit 1
            cat ranks.txt
            mpirun --rankfile ranks.txt --mca rmaps_rank_file_physical 1 --mca btl self,tcp \
                sh -c 'echo "rank $OMPI_COMM_WORLD_RANK $SLURMD_NODENAME" $(grep Cpus_allowed_list /proc/self/status)'
            """, "-N4", f"--ntasks-per-node={cores}", f"--gpus-per-node={cores}")
        got = [p.split() for p in places(said)]
        ctx.say(f"ranks on {[p[0] for p in got]}, bound to {[p[-1] for p in got]}")
        ctx.expect_equal([p[0] for p in got], [n for n in BY_FABRIC for _ in range(cores)], "hosts of Open MPI's ranks")
        wanted = re.findall(r"^rank \d+=\S+ slot=(\S+)", said, re.M)
        ctx.expect_equal([p[-1] for p in got], wanted, "cores of Open MPI's ranks")
