# SPDX-License-Identifier: Apache-2.0
"""Which GPUs of a node a job gets, and which cores."""

import boards
from harness import scenario


def _take(cluster, *counts):
    """One job of each count, one after the other on node g1; their GPU lists ([]: did not start at once)."""
    out = []
    for count in counts:
        try:
            out.append(cluster.allocate("-N1", f"--gres=gpu:{count}").gpus["g1"])
        except RuntimeError:
            out.append([])
    cluster.cancel_all()
    return out


def _bridge_sequences(cluster):
    return {
        "1,1,2,2,2": _take(cluster, 1, 1, 2, 2, 2),
        "2,2,2,2": _take(cluster, 2, 2, 2, 2),
        "4,4": _take(cluster, 4, 4),
        "1,4,2,1": _take(cluster, 1, 4, 2, 1),
        "6,2": _take(cluster, 6, 2),
        "2,4,2": _take(cluster, 2, 4, 2),
        "8": _take(cluster, 8),
    }


def _score(sequence):
    """(bridges that the jobs' sets hold, the most they could hold)."""
    return sum(boards.whole_pairs(g) for g in sequence), sum(len(g) // 2 for g in sequence)


@scenario("board with crossed bridges: single GPUs spare the pairs, pairs are bridged, four GPUs are two pairs")
def bridges(ctx):
    layouts = {
        "Links= and Cores= of the near socket": boards.bridged(),
        "Links= and Cores= of all cores": boards.bridged(gres_cores="all"),
        "neither (the usual gres.conf)": boards.bridged(gres_cores="", stock_links=False),
    }
    stock_lost = 0
    for told, layout in layouts.items():
        stock, atoll = ctx.both(layout, _bridge_sequences)
        ctx.say(f"gres.conf with {told}; jobs of so many GPUs in this order on one board:")
        for name, got in stock.items():
            held, most = _score(got)
            stock_lost += most - held
            ctx.say(f"  {name:10} stock {got}  bridges {held} of {most}")
            if not atoll:
                continue
            held, most = _score(atoll[name])
            ctx.say(f"  {'':10} atoll {atoll[name]}  bridges {held} of {most}")
            ctx.expect([len(g) for g in atoll[name]] == [int(n) for n in name.split(",")],
                       f"{told}: every job of {name} runs at once with as many GPUs as asked")
            ctx.expect(held == most, f"{told}: {name} holds all {most} bridges that it could, got {atoll[name]}")
        if atoll:
            singles = [g for job in atoll["1,1,2,2,2"][:2] for g in job]
            ctx.expect(boards.free_pairs(singles) == 3,
                       f"{told}: two 1-GPU jobs leave three whole pairs, took {singles}")
    ctx.expect(stock_lost > 0, "stock breaks pairs on this board (else the comparison says nothing)")


def _near(layout, gpus, cpus):
    """True when every core lies on a socket of one of the job's GPUs."""
    near = {c for gpu in gpus for c in layout.cores_of_gpu(gpu)}
    return {cpu // layout.threads for cpu in cpus} <= near


def _core_jobs(layout):
    shapes = (
        ("2 GPUs, 4 cores", ("-n1", "-c4", "--gres=gpu:2")),
        ("4 GPUs, 4 tasks x 2 cores", ("-n4", "-c2", "--gres=gpu:4")),
        ("1 GPU, 1 core", ("-n1", "--gres=gpu:1")),
        ("1 GPU, 2 cores a GPU", ("--gpus=1", "--cpus-per-gpu=2")),
    )

    def drive(cluster):
        seen = []
        for name, options in shapes:
            while True:
                try:
                    job = cluster.allocate("-N1", "-w", "g1", *options)
                except RuntimeError:
                    break
                seen.append((name, job.gpus["g1"], job.cpus["g1"], _near(layout, job.gpus["g1"], job.cpus["g1"])))
            cluster.cancel_all()
        # A job without GPUs fills socket 0 first; GPUs of both sockets are free.
        filler = cluster.allocate("-N1", "-w", "g1", "-n12", "--distribution=block:block")
        for _ in range(3):
            job = cluster.allocate("-N1", "-w", "g1", "-n1", "-c4", "--gres=gpu:2")
            seen.append((f"2 GPUs, 4 cores, beside a job on {len(filler.cpus['g1'])} cores", job.gpus["g1"],
                         job.cpus["g1"], _near(layout, job.gpus["g1"], job.cpus["g1"])))
        cluster.cancel_all()
        return seen
    return drive


@scenario("cores are those near the GPUs, without --gres-flags=enforce-binding")
def near_cores(ctx):
    for told, layout in {"Cores=": boards.bridged(), "no Cores=": boards.bridged(gres_cores=""),
                         "no Cores=, two threads a core": boards.bridged(gres_cores="", threads=2)}.items():
        stock, atoll = ctx.both(layout, _core_jobs(layout))
        for label, seen in (("stock", stock), ("atoll", atoll)):
            if seen is None:
                continue
            near = sum(1 for *_, good in seen if good)
            ctx.say(f"gres.conf with {told}: {label} gave near cores to {near} of {len(seen)} jobs")
            for name, gpus, cpus, good in seen:
                if not good:
                    ctx.say(f"  far: {name}: GPUs {gpus}, cores {cpus}")
        if atoll:
            ctx.expect_equal(len(atoll), len(stock), f"{told}: as many jobs run as under stock")
            for name, gpus, cpus, good in atoll:
                ctx.expect(good, f"{told}: {name} with GPUs {gpus} has near cores, got {cpus}")


@scenario("a job whose near cores are taken still runs, on far ones")
def far_cores_only(ctx):
    layout = boards.bridged()

    def drive(cluster):
        # All of socket 0 and 13 of socket 1 go to jobs without GPUs; only 3 cores are left, on one socket.
        cluster.allocate("-N1", "-n16", "--distribution=block:block")
        cluster.allocate("-N1", "-n13", "--distribution=block:block")
        jobs = [cluster.allocate("-N1", "-n1", "--gres=gpu:4"), cluster.allocate("-N1", "-n2", "--gres=gpu:4")]
        return [(j.gpus["g1"], j.cpus["g1"]) for j in jobs]
    stock, atoll = ctx.both(layout, drive)
    ctx.say(f"stock {stock}")
    if atoll:
        ctx.say(f"atoll {atoll}")
        ctx.expect(len(atoll) == 2 and sum(len(g) for g, _ in atoll) == 8, "both jobs run and hold all eight GPUs")
