# SPDX-License-Identifier: Apache-2.0
"""--test-only, expected starts, backfill: never later than stock's."""

import datetime
import re
import time

import boards
from cluster import SlurmError
from harness import scenario

SHAPES = (
    "-N1 --gres=gpu:8", "-N1 --gres=gpu:4", "-N1 --gres=gpu:1", "-N2 --gpus-per-node=8", "-N3 --gpus-per-node=4",
    "-N4 --gpus-per-node=8", "-N4 --gpus-per-node=1", "--gpus=20", "--gpus=6 -N1", "-n8 --gpus-per-task=1",
    "-N1 --exclusive", "-N2 -n64", "-n30", "--exclude=g1 -N3 --gpus-per-node=2", "-w g4 -N1 --gres=gpu:8",
    "-N2 --gpus-per-node=8 --begin=now+300",
)
# node, GPUs, minutes: pinned, so that both clusters are equally full
BACKGROUND = (("g1", 4, 10), ("g1", 2, 20), ("g2", 8, 5), ("g3", 5, 15), ("g4", 1, 30))


def _background(cluster):
    for node, gpus, minutes in BACKGROUND:
        cluster.allocate("-N1", "-w", node, f"--gres=gpu:{gpus}", f"-t{minutes}", "-n2")


def _test_only(cluster, shape):
    """Seconds from now to the start that --test-only promises; None when it is refused."""
    done = cluster.try_run("sbatch", "--test-only", "-t10", *shape.split(), stdin="#!/bin/sh\ntrue\n")
    told = re.search(r"to start at (\S+) using", done.stderr)
    if not told:
        return None
    start = datetime.datetime.fromisoformat(told.group(1)).replace(tzinfo=datetime.timezone.utc)
    return (start - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


SLACK_S = 5.0  # the clusters are asked one after the other; Slurm counts whole seconds


@scenario("--test-only promises the same start as stock or an earlier one")
def test_only(ctx):
    def drive(cluster):
        out = {"empty cluster: " + shape: _test_only(cluster, shape) for shape in SHAPES}
        begin = time.monotonic()
        _background(cluster)
        for shape in SHAPES:
            told = _test_only(cluster, shape)
            # counted from when the background started, which the promises hang on
            out["busy cluster: " + shape] = None if told is None else told + (time.monotonic() - begin)
        return out
    stock, atoll = ctx.both(boards.bridged(4), drive)
    later = earlier = 0
    for shape, start in stock.items():
        if atoll is None:
            ctx.say(f"{shape}: stock {'refused' if start is None else f'{max(start, 0):.0f} s'}")
            continue
        ours = atoll[shape]
        if start is None:
            ctx.expect(ours is None, f"{shape}: refused by stock, atoll says {ours}")
            continue
        earlier += ours is not None and ours < start - SLACK_S
        if not ctx.expect(ours is not None and ours <= start + SLACK_S, f"{shape}: stock {start:.0f} s, atoll {ours}"):
            later += 1
    if atoll is not None:
        ctx.say(f"{len(stock)} estimates: {earlier} earlier than stock, {later} later")


@scenario("backfill: what stock starts beside a waiting big job, Atoll starts; waiting jobs start when room comes")
def backfill(ctx):
    def drive(cluster):
        _background(cluster)
        big = cluster.submit("-N4", "--gpus-per-node=8", "-t60")
        time.sleep(1.5)  # one turn of the backfill scheduler
        small = [cluster.submit(*shape.split()) for shape in
                 ("-N1 --gres=gpu:2 -t4", "-N1 --gres=gpu:1 -t3", "-N2 --gpus-per-node=1 -t3",
                  "-N1 --gres=gpu:4 -t100")]
        states = {}
        for name, job in zip(("2 GPUs", "1 GPU", "2 nodes", "4 GPUs, too long"), small):
            try:
                states[name] = cluster.wait_state(job, "RUNNING", seconds=5).state
            except SlurmError:
                states[name] = cluster.job(job).state
        expected = cluster.job(big).fields.get("StartTime")
        running = [j.id for j in cluster.jobs().values() if j.state == "RUNNING"]
        begin = time.monotonic()
        cluster.cancel(*running, small[-1])
        states["big job once room comes"] = cluster.wait_state(big, "RUNNING", seconds=20).state
        return states, expected, time.monotonic() - begin
    stock, atoll = ctx.both(boards.bridged(4), drive)
    for label, got in (("stock", stock), ("atoll", atoll)):
        if got:
            ctx.say(f"{label}: {got[0]}, big job expected at {got[1]}, started {got[2]:.1f} s after room came")
    if atoll:
        for name, state in stock[0].items():
            ours = atoll[0][name]
            ctx.expect(ours == "RUNNING" or state != "RUNNING", f"{name}: stock {state}, atoll {ours}")
