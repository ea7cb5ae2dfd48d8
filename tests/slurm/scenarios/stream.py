# SPDX-License-Identifier: Apache-2.0
"""The same seeded stream of jobs on stock and on Atoll, 16 CLOUD nodes.

The two clusters drift apart, because they place differently, so "pending here, running there" proves
nothing. Instead slurmctld with Atoll is stopped when jobs wait, and a stock cons_tres takes over its
saved state: no waiting job may start then that Atoll left waiting.
"""

import os
import random
import time

import boards
from cluster import ENDED, SlurmError
from harness import scenario
from scenarios.lifecycle import check_errors, check_no_gpu_twice, select_errors

SEED = int(os.environ.get("ATOLL_STREAM_SEED", "20261130"))
JOBS = int(os.environ.get("ATOLL_STREAM_JOBS", "60"))
BATCH = 5
TURN_S = 2.3  # the scheduler's turn comes every second, backfill's after it


def make_stream(seed, jobs):
    """Steps of (options of jobs to submit, share of running jobs to cancel)."""
    rng = random.Random(seed)
    kinds = (
        lambda: f"-N1 --gres=gpu:{rng.choice((1, 1, 2, 2, 3, 4, 4, 6, 8))}",
        lambda: f"-N{rng.choice((2, 2, 3, 4, 8))} --gpus-per-node={rng.choice((1, 2, 4, 8, 8, 8))}",
        lambda: f"--gpus={rng.randint(1, 20)}",
        lambda: f"-N{rng.choice((1, 2))} -n{rng.randint(2, 8)} --gpus-per-task=1",
        lambda: f"-N1 --gres=gpu:{rng.choice((1, 2, 4))} -c{rng.choice((2, 8, 16, 24))}",
        lambda: f"-N{rng.choice((1, 2))} --exclusive --gres=gpu:1",
        lambda: f"-n{rng.randint(1, 64)}",
        lambda: f"-N2 --exclude=g[1-{rng.randint(2, 6)}] --gpus-per-node={rng.randint(1, 8)}",
        lambda: f"-N1 --nodelist=g{rng.randint(1, 8)} --gres=gpu:{rng.randint(1, 4)}",
        lambda: f"-N2-4 --gpus-per-node={rng.choice((2, 4))}",
        lambda: f"--gpus={rng.choice((2, 4))} --cpus-per-gpu={rng.choice((1, 4))}",
    )
    weights = (6, 6, 3, 2, 2, 1, 2, 1, 1, 1, 1)
    steps = []
    for first in range(0, jobs, BATCH):
        options = [f"{rng.choices(kinds, weights)[0]()} -t{rng.choice((5, 30, 120))}"
                   for _ in range(min(BATCH, jobs - first))]
        steps.append((options, rng.choice((0, 0, 0.2, 0.4)) if first > jobs // 3 else 0, rng.random()))
    return steps


def _started(jobs):
    return {i for i, j in jobs.items() if j.state in ("RUNNING", "CONFIGURING")}


def _waiting(jobs):
    return {i for i, j in jobs.items() if j.state == "PENDING"}


def _step(cluster, options, share, seed):
    rng = random.Random(seed)
    running = sorted(_started(cluster.jobs()))
    gone = rng.sample(running, int(len(running) * share))
    if gone:
        cluster.run("scancel", *map(str, gone))
    refused = []
    for line in options:
        try:
            cluster.submit(*line.split())
        except SlurmError:
            refused.append(line)
    return refused


def _stock_takes_over(ctx, cluster, where):
    """Stock cons_tres on the state Atoll left: the waiting jobs it starts at once."""
    before = cluster.jobs()
    if not _waiting(before):
        return 0
    cluster.set_select("select/cons_tres")
    cluster.restart_ctld()
    time.sleep(TURN_S)
    after = cluster.jobs()
    ctx.expect_equal(_started(before) - _started(after), set(), f"{where}: running jobs lost when stock takes over")
    new = {i: after[i].fields.get("TresPerNode") or after[i].fields.get("TresPerJob") or after[i].fields.get("NumCPUs")
           for i in _started(after) - _started(before)}
    ctx.expect(not new, f"{where}: stock starts jobs that Atoll left waiting in the same state: {new}, "
                        f"reasons {[before[i].reason for i in new]}")
    cluster.set_select("select/cons_tres_atoll")
    cluster.restart_ctld()
    return len(_waiting(before))


def _judge_can_condemn(ctx, cluster):
    """The judge must start a job that fits, or its silence means nothing: one is released to it just as Atoll stops."""
    cluster.cancel_all()
    for _ in range(4):
        job = cluster.submit("-N1", "--gres=gpu:1", "--hold")
        cluster.run("scontrol", "release", str(job))
        cluster.set_select("select/cons_tres")
        cluster.stop_ctld()
        stopped = cluster.ctld_log()
        cluster.start_ctld()
        time.sleep(TURN_S)
        started = cluster.job(job).state
        cluster.set_select("select/cons_tres_atoll")
        cluster.restart_ctld()
        if f"JobId={job} in main" not in stopped:  # Atoll was stopped before its turn came
            ctx.expect_equal(started, "CONFIGURING", "a job that fits, once stock takes over")
            return
    ctx.expect(False, "no job could be put to stock before Atoll started it")


def _stream(ctx, layout, jobs):
    steps = make_stream(SEED, jobs)
    ctx.say(f"seed {SEED} (ATOLL_STREAM_SEED), {jobs} jobs")
    with ctx.stock(layout) as stock:
        if not ctx.plugin:
            return _drive(ctx, [stock], steps)
        with ctx.atoll(layout) as atoll:
            _drive(ctx, [stock, atoll], steps)
            check_errors(ctx, select_errors(stock), select_errors(atoll))


@scenario(f"a seeded stream of {JOBS} jobs on both: nothing waits that stock would start, no GPU twice, no new errors")
def stream(ctx):
    _stream(ctx, boards.two_leaves(16, links=boards.BRIDGES, cloud=True), JOBS)


@scenario("a stream on nodes whose gres.conf has neither Cores= nor Links=, memory counted, two threads a core")
def stream_bare(ctx):
    layout = boards.two_leaves(8, links=boards.BRIDGES, cloud=True, gres_cores="", stock_links=False, threads=2,
                               slurm_conf=("SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=900"))
    _stream(ctx, layout, JOBS // 2)


def _drive(ctx, clusters, steps):
    judged = 0
    for number, (options, share, seed) in enumerate(steps, 1):
        refused = [_step(cluster, options, share, seed) for cluster in clusters]
        ctx.expect_equal(refused[-1], refused[0], f"step {number}: requests refused")
        time.sleep(TURN_S)
        seen = [cluster.jobs() for cluster in clusters]
        ctx.say(f"step {number}: started/waiting " + ", ".join(
            f"{name} {len(_started(jobs))}/{len(_waiting(jobs))}" for name, jobs in zip(("stock", "atoll"), seen)))
        for cluster in clusters:
            check_no_gpu_twice(ctx, cluster, f"step {number}")
        if len(clusters) == 2 and number % 2 == 0:
            judged += _stock_takes_over(ctx, clusters[1], f"step {number}")
    if len(clusters) == 2:
        ctx.say(f"{judged} times a waiting job was put to stock in the same state")
        ctx.expect(judged > 0, "the stream makes jobs wait (else it proves nothing)")
        _judge_can_condemn(ctx, clusters[1])
    ended = [sum(1 for j in c.jobs().values() if j.state in ENDED) for c in clusters]
    ctx.say(f"jobs ended: {ended}")
