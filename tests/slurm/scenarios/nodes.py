# SPDX-License-Identifier: Apache-2.0
"""Which nodes a job gets: leaves kept together, small jobs packed, scattered jobs run all the same."""

import boards
from cluster import SlurmError
from harness import scenario

WHOLE = ("--gpus-per-node=8",)


def _try(cluster, *options):
    try:
        return cluster.allocate(*options)
    except SlurmError:
        return None


def _place(cluster, *shapes):
    """One job of each (nodes, GPUs a node[, node it must have]) in order: node lists, None where one did not
    start at once."""
    out = []
    for nodes, gpus, *pinned in shapes:
        job = _try(cluster, f"-N{nodes}", f"--gpus-per-node={gpus}", *(f"--nodelist={p}" for p in pinned))
        out.append(job.nodes if job else None)
    cluster.cancel_all()
    return out


SEQUENCES = {
    "4+4 nodes": ((4, 8), (4, 8)),
    "1 node, then 4": ((1, 8), (4, 8)),
    "1+1 nodes, then 4": ((1, 8), (1, 8), (4, 8)),
    "2+2 nodes, then 4": ((2, 8), (2, 8), (4, 8)),
    "1 GPU, then 4 nodes": ((1, 1), (4, 8)),
    "1 GPU, 1 node, 1 GPU, 2x2 GPUs, then 4 nodes": ((1, 1), (1, 8), (1, 1), (1, 2), (1, 2), (4, 8)),
    "1 node, 3 nodes, then 4": ((1, 8), (3, 8), (4, 8)),
    "3 nodes, 1 GPU, then 4 nodes": ((3, 8), (1, 1), (4, 8)),
    "1 GPU on g4, 1 GPU, 2 GPUs, then 4 nodes": ((1, 1, "g4"), (1, 1), (1, 2), (4, 8)),
    "1 node on g4, 1 node, 1 GPU, then 4 nodes": ((1, 8, "g4"), (1, 8), (1, 1), (4, 8)),
    "2 nodes with g6, 2 nodes, then 4": ((2, 8, "g6"), (2, 8), (4, 8)),
}


def _show(ctx, layout, label, placed):
    for name, jobs in placed.items():
        ctx.say(f"{label}: {name}: " + "  ".join(
            "did not start" if not nodes else
            f"{','.join(nodes)} (leaf {'+'.join(str(l + 1) for l in boards.leaves_of(layout, nodes))})"
            for nodes in jobs))


@scenario("multi-node jobs stay under one leaf while one is free; small jobs do not break an untouched leaf")
def leaves(ctx):
    layout = boards.two_leaves(8)
    stock, atoll = ctx.both(layout, lambda c: {name: _place(c, *shapes) for name, shapes in SEQUENCES.items()})
    _show(ctx, layout, "stock", stock)
    if not atoll:
        return
    _show(ctx, layout, "atoll", atoll)
    for name, jobs in atoll.items():
        ctx.expect(all(jobs), f"{name}: every job starts at once")
        for nodes in filter(None, jobs):
            ctx.expect(len(boards.leaves_of(layout, nodes)) == 1, f"{name}: {nodes} lie under one leaf")


@scenario("jobs smaller than a node go to the tightest node that holds them, whole nodes stay whole")
def pack(ctx):
    layout = boards.two_leaves(8)

    def drive(cluster):
        jobs = [_try(cluster, "-N1", f"--gres=gpu:{n}") for n in (6, 4, 2, 1, 3, 1, 2, 4, 1)]
        whole = [n.name for n in cluster.nodes().values() if not n.gpu_count_used]
        placed = [(j.nodes[0], j.gpus[j.nodes[0]]) if j else None for j in jobs]
        cluster.cancel_all()
        return placed, sorted(whole)
    stock, atoll = ctx.both(layout, drive)
    ctx.say(f"6,4,2,1,3,1,2,4,1 GPUs (24 in all): stock leaves {len(stock[1])} whole nodes: {stock[0]}")
    if atoll:
        ctx.say(f"atoll leaves {len(atoll[1])} whole nodes: {atoll[0]}")
        ctx.expect(all(atoll[0]), "every job starts at once")
        ctx.expect_equal(len(atoll[1]), 5, "24 GPUs of small jobs touch three nodes only; whole nodes left")
        ctx.expect(len(boards.leaves_of(layout, [p[0] for p in atoll[0] if p])) == 1, "and those under one leaf")


@scenario("holes are filled exactly: after 2, 5 and 6 GPUs are taken on three nodes, 2, 3 and 6 more break no fourth")
def holes(ctx):
    layout = boards.two_leaves(8, links=boards.BRIDGES)

    def drive(cluster):
        for node, gpus in (("g1", 2), ("g3", 5), ("g5", 6)):
            cluster.allocate("-N1", "-w", node, f"--gres=gpu:{gpus}")
        placed = [_try(cluster, "-N1", f"--gres=gpu:{n}").nodes[0] for n in (2, 3, 6)]
        return placed, sum(1 for n in cluster.nodes().values() if not n.gpu_count_used)
    stock, atoll = ctx.both(layout, drive)
    ctx.say(f"2, 3, 6 GPUs: stock {stock[0]}, {stock[1]} whole nodes left")
    if atoll:
        ctx.say(f"2, 3, 6 GPUs: atoll {atoll[0]}, {atoll[1]} whole nodes left")
        ctx.expect_equal(atoll[0], ["g5", "g3", "g1"], "each job on the node it fills")
        ctx.expect(atoll[1] > stock[1], "more whole nodes left than under stock (else the comparison says nothing)")


@scenario("a job that only fits scattered still runs: over leaves, over split GPUs")
def scattered(ctx):
    layout = boards.two_leaves(8, links=boards.BRIDGES)

    def drive(cluster):
        seen = {}
        for names in ("g1,g3,g5", "g2,g4,g6"):
            _try(cluster, "-w", names, "-N3", *WHOLE)
        seen["2 nodes, one free under each leaf"] = _try(cluster, "-N2", *WHOLE)
        cluster.cancel_all()
        # Only g1 has free GPUs, and of each bridge only one.
        for name in layout.names()[1:]:
            _try(cluster, "-w", name, "-N1", *WHOLE)
        singles = [_try(cluster, "-N1", "--gres=gpu:1") for _ in range(8)]
        keep = {}
        for job in singles:  # keep one GPU of each bridge busy
            pair = next(p for p in boards.BRIDGES if job.gpus["g1"][0] in p)
            keep.setdefault(pair, job.id)
        cluster.cancel(*(j.id for j in singles if j.id not in keep.values()))
        seen["4 GPUs, one of each pair free"] = _try(cluster, "-N1", "--gres=gpu:4")
        cluster.cancel_all()
        # 3 free GPUs on each of three nodes.
        for name in layout.names():
            _try(cluster, "-w", name, "-N1", f"--gpus-per-node={5 if name in ('g1', 'g2', 'g4') else 8}")
        seen["9 GPUs over 3 nodes of both leaves"] = _try(cluster, "--gpus=9", "-N3")
        cluster.cancel_all()
        return {name: (job.nodes, job.gpus) if job else None for name, job in seen.items()}
    stock, atoll = ctx.both(layout, drive)
    for name, got in stock.items():
        ctx.say(f"{name}: stock {got}")
        if atoll:
            ctx.say(f"{name}: atoll {atoll[name]}")
            ctx.expect(atoll[name] is not None or got is None, f"{name}: starts, as under stock")
    if atoll:
        ctx.expect(all(atoll.values()), "all of them start")


@scenario("with topology/none in Slurm, the leaves of the cluster file still hold")
def fabric_differs(ctx):
    layout = boards.two_leaves(8)
    flat = boards.two_leaves(8, slurm_conf=("TopologyPlugin=topology/none",))

    def drive(cluster):
        return _place(cluster, (1, 8), (4, 8))
    stock, atoll = ctx.both(flat, drive)
    ctx.say(f"topology/none: stock {stock}")
    if atoll:
        ctx.say(f"topology/none: atoll {atoll}")
        ctx.expect(all(atoll), "both jobs start")
        ctx.expect(len(boards.leaves_of(layout, atoll[1])) == 1, f"four nodes lie under one leaf: {atoll[1]}")
