# SPDX-License-Identifier: Apache-2.0
"""Clusters that are not all alike: plain nodes, weights, partitions, reservations, arrays."""

import os

import boards
from cluster import SlurmError
from harness import scenario


def _try(cluster, *options):
    """(nodes, GPUs in all) of a job granted at once; None otherwise."""
    try:
        job = cluster.allocate(*options)
        return job.nodes, job.gpu_count
    except SlurmError:
        return None


def _show(ctx, stock, atoll):
    for name, got in stock.items():
        ctx.say(f"{name}: stock {got}" + (f", atoll {atoll[name]}" if atoll else ""))
        if atoll:
            ctx.expect((atoll[name] is None) == (got is None), f"{name}: granted exactly when stock grants")
            if got and atoll[name]:
                ctx.expect_equal((len(atoll[name][0]), atoll[name][1]), (len(got[0]), got[1]), f"{name}: nodes, GPUs")


@scenario("nodes without GPUs in the cluster: GPU jobs stay off them, other jobs go where stock sends them")
def plain_nodes(ctx):
    layout = boards.bridged(2, plain=2)

    def drive(cluster):
        seen = {}
        for options in ("-N1 --gres=gpu:2", "-N2 --gpus-per-node=3", "-N3 --gres=gpu:1", "-N4", "-n40", "-N1 -n32",
                        "--gpus=6", "-N1 -w c1", "-N1 -w c1 --gres=gpu:1", "-N2 -w c1"):
            seen[options] = _try(cluster, *options.split())
        return seen
    stock, atoll = ctx.both(layout, drive)
    _show(ctx, stock, atoll)
    if atoll:
        for options, got in atoll.items():
            if got and "gpu" in options:
                ctx.expect(all(n.startswith("g") for n in got[0]), f"{options}: on nodes with GPUs: {got[0]}")


@scenario("node weights: lighter nodes first, as stock")
def weights(ctx):
    layout = boards.bridged(4, weights={"g1": 50, "g2": 50, "g3": 1, "g4": 1})

    def drive(cluster):
        seen = {}
        for i, options in enumerate(("-N1 --gres=gpu:2", "-N1 --gres=gpu:1", "-N1 --gres=gpu:8", "-N1 --gres=gpu:4",
                                     "-N1 --gres=gpu:4", "-N2 --gpus-per-node=2")):
            seen[f"{i + 1}. {options}"] = _try(cluster, *options.split())
        return seen
    stock, atoll = ctx.both(layout, drive)
    _show(ctx, stock, atoll)
    if atoll:
        for options, got in list(atoll.items())[:3]:
            light = got and set(got[0]) <= {"g3", "g4"}
            ctx.expect(light, f"{options}: on the light nodes while they have room: {got}")


@scenario("partitions that overlap: jobs stay inside theirs")
def partitions(ctx):
    layout = boards.bridged(4, partitions=("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
                                           "PartitionName=left Nodes=g1,g2 MaxTime=INFINITE State=UP",
                                           "PartitionName=right Nodes=g3,g4 MaxNodes=1 MaxTime=INFINITE State=UP"))

    def drive(cluster):
        seen = {}
        for options in ("-p right -N1 --gres=gpu:2", "-p left -N1 --gres=gpu:1", "-p right -N1 --gres=gpu:2",
                        "-p right -N2 --gres=gpu:1", "-p left -N2 --gpus-per-node=7", "-p left --gpus=2",
                        "-N2 --gpus-per-node=8", "-p right --gpus=4"):
            seen[f"{len(seen) + 1}. {options}"] = _try(cluster, *options.split())
        return seen
    stock, atoll = ctx.both(layout, drive)
    _show(ctx, stock, atoll)
    if atoll:
        for options, got in atoll.items():
            inside = {"left": {"g1", "g2"}, "right": {"g3", "g4"}}.get(options.partition("-p ")[2].split(" ")[0])
            if got and inside:
                ctx.expect(set(got[0]) <= inside, f"{options}: inside its partition: {got[0]}")


def _client_conf(cluster):
    """A slurm.conf for scontrol alone that names stock cons_tres: scontrol of 22.05 itself refuses CoreCnt= for any
    other plugin id than its own, before it asks slurmctld."""
    path = os.path.join(cluster.folder, "client.conf")
    with open(cluster.env["SLURM_CONF"]) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("SelectType=select/cons_tres_atoll", "SelectType=select/cons_tres"))
    return path


@scenario("a reservation: nobody else takes its nodes, its own jobs use them; cores reserved on a node are left alone")
def reservation(ctx):
    layout = boards.bridged(3)

    def drive(cluster):
        cluster.run("scontrol", "create", "reservation", "ReservationName=held", "Nodes=g1", "StartTime=now",
                    "Duration=60", "Users=root")
        cluster.run("scontrol", "create", "reservation", "ReservationName=cores", "Nodes=g2", "CoreCnt=20",
                    "StartTime=now", "Duration=60", "Users=root", env={"SLURM_CONF": _client_conf(cluster)})
        seen = {}
        for options in ("-N1 --gres=gpu:1", "-N1 --gres=gpu:1 --reservation=held", "-N2 --gpus-per-node=2",
                        "-N3 --gres=gpu:1", "-N1 -w g2 -n12 --gres=gpu:1", "-N1 -w g2 -n2 --gres=gpu:1",
                        "--reservation=held -N1 --gres=gpu:7", "--reservation=cores -N1 -n20 --gres=gpu:1",
                        "-N1 --gres=gpu:6"):
            seen[f"{len(seen) + 1}. {options}"] = _try(cluster, *options.split())
        return seen
    stock, atoll = ctx.both(layout, drive)
    _show(ctx, stock, atoll)
    if atoll:
        for options, got in atoll.items():
            if got and "held" not in options:
                ctx.expect("g1" not in got[0], f"{options}: not on the reserved node: {got[0]}")
            if got and "held" in options:
                ctx.expect_equal(got[0], ["g1"], f"{options}: nodes")


@scenario("a job array: all its tasks start, no GPU twice, bridges held")
def array(ctx):
    layout = boards.bridged(2)

    def drive(cluster):
        cluster.submit("--array=1-8", "-N1", "--gres=gpu:2", "--parsable")
        def running():
            return sum(1 for j in cluster.jobs().values() if j.state == "RUNNING")
        cluster.until(lambda: running() == 8, 30, "eight array tasks")
        return [(j.nodes[0], j.gpus[j.nodes[0]]) for j in cluster.jobs().values()]
    stock, atoll = ctx.both(layout, drive)
    ctx.say(f"stock {stock}")
    if atoll:
        ctx.say(f"atoll {atoll}")
        ctx.expect_equal(len({(n, g) for n, gpus in atoll for g in gpus}), 16, "GPUs held by eight tasks")
        ctx.expect(all(boards.is_bridged(g) for _, g in atoll), "each task has a bridged pair")
