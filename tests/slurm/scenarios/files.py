# SPDX-License-Identifier: Apache-2.0
"""Cluster files and configurations that are missing, broken, refused, replaced."""

import os

import boards
from harness import scenario
from scenarios.gpus import _take

ORDER = (1, 1, 2, 2, 2)
OTHER_BRIDGES = ((0, 1), (2, 3), (4, 5), (6, 7))
OURS = "[Aa]toll"


def bad_cluster_files(layout):
    """name → content of a cluster file that must be refused."""
    text = boards.cluster_file(layout)
    return {
        "missing": None,
        "empty": "",
        "truncated": text[: len(text) * 2 // 3],
        "NaN cost": boards.with_bandwidth(text, ".nan"),
        "negative cost": boards.with_bandwidth(text, "-90.5"),
        "infinite cost": boards.with_bandwidth(text, ".inf"),
        "cost in words": boards.with_bandwidth(text, "fast"),
        "binary": bytes(range(256)) * 64,
        "unknown key": text + "\nsurprise: 1\n",
        "newer version": text.replace("atoll/v1", "atoll/v7"),
        "nested too deep": text + "\nx: " + "[" * 5000 + "]" * 5000 + "\n",
        "simulated": boards.cluster_file(layout, source="simulated"),
    }


def bad_configurations(path):
    """name → text of an atoll.yaml that must be refused."""
    return {
        "configuration with an unknown key": f"cluster_file: {path}\nsurprise: 1\n",
        "configuration without a cluster file": "allow_simulated: true\n",
        "configuration that is binary": "\x01\x02\x00\xff" * 200,
        "configuration cut off": f"cluster_file: \"{path}",
    }


def _claim_refused(ctx, cluster, name, stock, since=0):
    """slurmctld serves, one loud line, and jobs run as stock places them."""
    ctx.expect(cluster.ctld.alive(), f"{name}: slurmctld runs")
    loud = cluster.log_lines(r"error:.*" + OURS, since)
    ctx.say(f"{name}: {loud[0].partition('] ')[2] if loud else 'no line'}")
    if ctx.expect_equal(len(loud), 1, f"{name}: number of error lines"):
        ctx.expect("cluster.yaml" in loud[0] or "atoll.yaml" in loud[0], f"{name}: the line names the file: {loud[0]}")
        ctx.expect(len(loud[0].split(";")) > 1 or len(loud[0].split(" - ")) > 1 or ", " in loud[0],
                   f"{name}: the line says what to do: {loud[0]}")
    ctx.expect_equal(_take(cluster, *ORDER), stock, f"{name}: jobs run and get what stock gives")


@scenario("a bad cluster file or configuration: slurmctld runs, one loud line with the remedy, jobs run as stock")
def bad_file(ctx):
    layout = boards.bridged(1)
    with ctx.stock(layout) as cluster:
        stock = _take(cluster, *ORDER)
    ctx.say(f"stock places {','.join(map(str, ORDER))} GPUs on {stock}")
    text = boards.cluster_file(layout)
    for name, content in bad_cluster_files(layout).items():
        with ctx.atoll(layout, cluster_file=content, allow_simulated=False) as cluster:
            _claim_refused(ctx, cluster, name, stock)
    for name, conf in bad_configurations("cluster.yaml").items():
        with ctx.atoll(layout, cluster_file=text, atoll_conf=conf) as cluster:
            _claim_refused(ctx, cluster, name, stock)


@scenario("a directory, a pipe or a huge file where the cluster file should be does not stop slurmctld")
def odd_file(ctx):
    layout = boards.bridged(1)
    with ctx.stock(layout) as cluster:
        stock = _take(cluster, *ORDER)

    def directory(path):
        os.mkdir(path)

    def huge(path):
        with open(path, "wb") as f:
            f.truncate(300 << 20)
    for name, make in {"directory": directory, "pipe": os.mkfifo, "300 MiB of zeros": huge}.items():
        with ctx.atoll(layout, cluster_file=None) as cluster:
            make(cluster.cluster_path)
            cluster.restart_ctld()
            since = cluster.log_position()
            cluster.reconfigure()
            _claim_refused(ctx, cluster, name, stock, since)


@scenario("no configuration at all: Atoll only passes on, and says so without an error")
def no_configuration(ctx):
    layout = boards.bridged(1)
    with ctx.stock(layout) as cluster:
        stock = _take(cluster, *ORDER)
    with ctx.atoll(layout, cluster_file=None, atoll_conf="") as cluster:
        ctx.expect_equal(cluster.log_lines(r"error:.*" + OURS), [], "error lines")
        told = cluster.log_lines(OURS + r".*atoll\.yaml|" + OURS + r".*configuration")
        ctx.expect(told, "a line says that there is no configuration")
        ctx.say(told[0].partition("] ")[2] if told else "no line")
        ctx.expect_equal(_take(cluster, *ORDER), stock, "jobs run and get what stock gives")


@scenario("scontrol reconfigure: a bad file keeps the old one in force, a good one is taken")
def reload_file(ctx):
    layout = boards.bridged(1)
    with ctx.atoll(layout) as cluster:
        wanted = _take(cluster, *ORDER)
        ctx.expect(all(boards.is_bridged(g) for g in wanted[2:]), f"at first the bridges hold: {wanted}")
        running = cluster.allocate("-N1", "--gres=gpu:1")
        for name in ("truncated", "missing", "unknown key", "binary"):
            cluster.write_cluster_file(bad_cluster_files(layout)[name])
            since = cluster.log_position()
            cluster.reconfigure()
            loud = cluster.wait_log(r"error:.*" + OURS, since)
            ctx.expect_equal(len(loud), 1, f"{name}: number of error lines")
            single = cluster.allocate("-N1", "--gres=gpu:1")
            ctx.expect(boards.is_bridged(running.gpus["g1"] + single.gpus["g1"]),
                       f"{name}: the old file still holds: second single beside {running.gpus} on {single.gpus}")
            cluster.cancel(single.id)
        other = boards.bridged(1)
        other.links = OTHER_BRIDGES
        cluster.write_cluster_file(boards.cluster_file(other))
        since = cluster.log_position()
        cluster.reconfigure()
        ctx.expect_equal(cluster.log_lines(r"error:.*" + OURS, since), [], "error lines on taking a good file")
        single = cluster.allocate("-N1", "--gres=gpu:1")
        pair = tuple(sorted(running.gpus["g1"] + single.gpus["g1"]))
        ctx.say(f"with bridges 0-1 2-3 4-5 6-7 after reconfigure, two singles are on {pair}")
        ctx.expect(pair in OTHER_BRIDGES, f"the new file holds, also for GPUs taken before: singles on {pair}")


@scenario("nodes that the cluster file does not know, or knows with other GPUs, are placed as stock")
def foreign_nodes(ctx):
    known = boards.bridged(2)
    real = boards.bridged(4)
    fewer = boards.bridged(4, gpus=4)

    def drive(cluster):
        out = []
        for n in (8, 8, 8, 8) if cluster.layout.gpus == 8 else (4, 4, 4, 4):
            out.append(cluster.allocate("-N1", f"--gres=gpu:{n}").gpu_count)
        cluster.cancel_all()
        out.append(len(cluster.allocate("-N4", "--gpus-per-node=2").nodes))
        cluster.cancel_all()
        return out
    for name, layout, told in (("two of four nodes known", real, known),
                               ("file says 8 GPUs, nodes have 4", fewer, real)):
        if told is real:
            layout.links = ()
        with ctx.stock(layout) as cluster:
            stock = drive(cluster)
        with ctx.atoll(layout, cluster_file=boards.cluster_file(told)) as cluster:
            got = drive(cluster)
            ctx.expect_equal(got, stock, f"{name}: as many nodes and GPUs as stock")
            notes = cluster.log_lines(OURS + ".*node")
            ctx.say(f"{name}: {notes[0].partition('] ')[2] if notes else 'no line'}")
