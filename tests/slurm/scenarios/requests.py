# SPDX-License-Identifier: Apache-2.0
"""Every way to ask: what stock grants, Atoll grants, in the same counts."""

import boards
from cluster import SlurmError
from harness import scenario

REQUESTS = (
    "--gpus=4", "--gpus=5 -n4", "-N2 --gpus=8", "-N3 --gpus=7", "--gpus=12", "--gpus=17 -N3",
    "-N2 --gpus-per-node=2", "-N4 --gpus-per-node=8", "-N2-4 --gpus-per-node=8",
    "-N1 --gres=gpu:3", "-N2 --gres=gpu:1", "-N1 --gres=gpu",
    "-n4 --gpus-per-task=2", "-n6 -N3 --gpus-per-task=1", "-n8 --gpus-per-task=1 --ntasks-per-node=4",
    "-n3 --gpus-per-task=3",
    "-N2 --gpus-per-socket=2 --sockets-per-node=2",
    "--gpus=2 --ntasks-per-gpu=2", "--gpus=4 --cpus-per-gpu=3", "--gpus=2 --mem-per-gpu=1000",
    "--exclusive -N1 --gres=gpu:2", "--exclusive -N2", "--exclusive -N2 --gpus-per-node=8",
    "--nodelist=g2,g3 -N2 --gpus-per-node=4", "--nodelist=g4 --gpus=2", "--nodelist=g1 -N3 --gres=gpu:8",
    "-N2 --exclude=g1 --gpus-per-node=1", "-N2 --exclude=g[1-2] --gpus-per-node=8",
    "--contiguous -N3 --gres=gpu:1", "--switches=1 -N2 --gres=gpu:8", "--spread-job -N4 --gres=gpu:1",
    "--use-min-nodes -N1-3 --gpus=6",
    "-N1 -n4 --gpus-per-node=4 --gres-flags=enforce-binding", "--gres-flags=disable-binding --gres=gpu:3",
    "-N1 -c32 --gres=gpu:4", "-N2 -n64 --gpus-per-node=1", "-n20 --gres=gpu:2", "-N1 -n17 --gres=gpu:1",
    "-n4", "-N4", "-N2 -n40", "-c16", "--mem=1000 -n2",
    "--gres=gpu:9", "--gpus=40", "-N5 --gres=gpu:1", "--gres=gpu:none:1", "-n200 --gpus-per-task=1",
)
TYPED = ("--gres=gpu:h100:3", "--gpus=h100:4", "-N2 --gpus-per-node=h100:8", "-n4 --gpus-per-task=h100:1",
         "--gres=gpu:2", "--gpus=9", "--gres=gpu:a100:1")


def _ask(cluster, requests):
    out = {}
    for request in requests:
        try:
            job = cluster.allocate(*request.split())
            out[request] = ([(n, job.gpus.get(n, []), len(job.cpus[n])) for n in job.nodes], "")
            cluster.cancel(job.id)
        except SlurmError as error:
            out[request] = (None, str(error).rpartition("error: ")[2])
    return out


def _same_counts(ctx, request, ours, granted):
    """As many GPUs, cores and nodes. Fewer nodes are welcome; what is asked a node then comes fewer times."""
    if not ctx.expect(len(ours) <= len(granted), f"{request}: no more nodes than stock: {granted}, got {ours}"):
        return
    if len(ours) == len(granted):
        ctx.expect_equal(sum(len(g) for _, g, _ in ours), sum(len(g) for _, g, _ in granted), f"{request}: GPUs")
        ctx.expect_equal(sum(c for *_, c in ours), sum(c for *_, c in granted), f"{request}: cores")
    elif "per-node" in request or "--gres" in request:
        ctx.expect_equal({len(g) for _, g, _ in ours}, {len(g) for _, g, _ in granted}, f"{request}: GPUs a node")
    else:
        ctx.expect_equal(sum(len(g) for _, g, _ in ours), sum(len(g) for _, g, _ in granted), f"{request}: GPUs")


def _compare(ctx, stock, atoll):
    different = 0
    for request, (granted, refusal) in stock.items():
        if atoll is None:
            ctx.say(f"{request}: stock {granted or refusal}")
            continue
        ours, our_refusal = atoll[request]
        if ours != granted:
            different += 1
            ctx.say(f"{request}: stock {granted or refusal}")
            ctx.say(f"{' ' * len(request)}  atoll {ours or our_refusal}")
        if granted is None:
            ctx.expect(ours is None and our_refusal == refusal, f"{request}: refused as stock does ({refusal})")
            continue
        if not ctx.expect(ours is not None, f"{request}: granted, as stock does"):
            continue
        _same_counts(ctx, request, ours, granted)
        if not any(g for _, g, _ in granted):
            ctx.expect_equal(ours, granted, f"{request}: a job without GPUs is placed as stock does")
    if atoll is not None:
        ctx.say(f"{len(stock)} requests, {different} placed otherwise than by stock")


@scenario("every way to ask for GPUs is granted or refused as stock does, in the same counts")
def ways_to_ask(ctx):
    _compare(ctx, *ctx.both(boards.bridged(4), lambda c: _ask(c, REQUESTS)))


@scenario("the same without Links= and Cores= in gres.conf")
def ways_to_ask_bare(ctx):
    layout = boards.bridged(4, gres_cores="", stock_links=False)
    _compare(ctx, *ctx.both(layout, lambda c: _ask(c, REQUESTS)))


@scenario("typed GPUs")
def typed(ctx):
    _compare(ctx, *ctx.both(boards.bridged(4, gpu_type="h100"), lambda c: _ask(c, TYPED)))


@scenario("requests on a half-full cluster: what fits under stock fits under Atoll")
def half_full(ctx):
    """The background is pinned node by node, so that both clusters are equally full (GPUs are counts to stock)."""
    layout = boards.bridged(4)

    def drive(cluster):
        for node, gpus in (("g1", 3), ("g2", 5), ("g3", 1)):
            cluster.allocate("-N1", "-w", node, f"--gres=gpu:{gpus}", "-n2")
        cluster.allocate("-N1", "-w", "g4", "-n24")
        return _ask(cluster, REQUESTS)
    stock, atoll = ctx.both(layout, drive)
    for request, (granted, refusal) in stock.items():
        if atoll is None:
            continue
        ours, our_refusal = atoll[request]
        ctx.expect((ours is None) == (granted is None) or granted is None,
                   f"{request}: stock {granted or refusal}, atoll {ours or our_refusal}")
        if granted is not None and ours is not None:
            _same_counts(ctx, request, ours, granted)
    ctx.say(f"stock grants {sum(1 for g, _ in stock.values() if g)} of {len(stock)}" +
            (f", atoll {sum(1 for g, _ in atoll.values() if g)}" if atoll else ""))


@scenario("an attempt that cannot lay out the tasks is taken back whole: the job that then starts keeps its priority")
def no_hold_left(ctx):
    """With one task a core and DefCpuPerGPU of another partition of the job, cons_tres finds too few cores in what an
    attempt leaves it, and holds the job (priority 0)."""
    layout = boards.bridged(3, threads=2, cloud=True, slurm_conf=("SelectTypeParameters=CR_Core,CR_ONE_TASK_PER_CORE",),
                            partitions=("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
                                        "PartitionName=left Nodes=g3 PriorityTier=10 DefCpuPerGPU=2 MaxTime=INFINITE "
                                        "State=UP"))

    def drive(cluster):
        cluster.start_job("-w", "g2", "-N1", "-n28", "-m", "block:block")
        cluster.start_job("-w", "g3", "-N1", "--exclusive")
        job = cluster.start_job("-N1", "-n4", "--gpus-per-task=1", "-p", "left,main")
        return job.nodes, job.fields["Priority"], cluster.log_lines("sync loop not progressing, holding")
    stock, atoll = ctx.both(layout, drive)
    ctx.say(f"stock {stock[:2]}" + (f", atoll {atoll[:2]}, {len(atoll[2])} attempts gave up" if atoll else ""))
    if atoll:
        ctx.expect(atoll[2], "an attempt gives up (else this shows nothing)")
        ctx.expect(atoll[1] != "0", f"the job that started is not held: priority {atoll[1]}")
