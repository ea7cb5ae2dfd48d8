# SPDX-License-Identifier: Apache-2.0
"""`atoll status`: what the plugin counts, read from its file while slurmctld runs."""

import json
import os
import re
import subprocess

import boards
from harness import scenario
from scenarios.ranks import need


def status(ctx, path, *argv):
    return subprocess.run([ctx.atoll_program, "status", path, *argv], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


@scenario("atoll status counts the decisions of a live slurmctld, through reconfigure, a cut file and its end")
def status_file(ctx):
    need(ctx)
    layout = boards.bridged(2, plain=1)
    with ctx.atoll(layout, atoll_conf="mode: off\n") as cluster:
        path = os.path.join(cluster.folder, "slurm.stats")

        def load(more=""):
            cluster.write_atoll_conf(cluster.default_atoll_conf() + f"stats_file: {path}\n" + more)
            cluster.reconfigure()

        def told():
            done = status(ctx, path, "--json")
            ctx.expect_equal((done.returncode, done.stderr), (0, ""), "atoll status --json")
            return json.loads(done.stdout)

        load()
        first = told()
        ctx.expect_equal((first["state"], first["pid"]), ("on", cluster.ctld.process.pid), "state and pid")
        ctx.expect_equal(first["nodes"], {"known": 2, "unknown": 1, "differing": 0}, "nodes")
        for _ in range(4):
            cluster.allocate("-N1", "--gres=gpu:2")
        cluster.allocate("-N1", "-n1")
        now = told()
        ctx.say({"decisions": now["decisions"], "left": now["left_to_slurm"]})
        ctx.expect(now["decisions"]["placed"] >= 4, f"four jobs placed: {now['decisions']}")
        ctx.expect([r for r in now["left_to_slurm"] if r["reason"] == "asks no GPU" and r["count"] >= 1],
                   f"the job without GPUs, by its reason: {now['left_to_slurm']}")
        ctx.expect(now["times_us"]["decision"]["count"] >= 4 and now["times_us"]["decision"]["p50"] > 0, "times")
        ctx.expect(now["last_decision"] is not None, "time of the last decision")
        text = status(ctx, path).stdout
        ctx.say("\n      ".join(text.splitlines()))
        prometheus = status(ctx, path, "--prometheus").stdout
        value = re.search(r'^atoll_slurm_decisions_total\{end="placed"\} (\d+)$', prometheus, re.M)
        ctx.expect(value and int(value.group(1)) >= 4, "the same for Prometheus")

        load("log_decisions: true\n")
        ctx.expect(told()["decisions"]["placed"] >= now["decisions"]["placed"], "counters go on after a reconfigure")
        os.truncate(path, 0)
        cluster.allocate("-N1", "--gres=gpu:1")
        ctx.expect(cluster.ctld.alive(), "slurmctld runs on after its file was cut")
        ctx.expect_equal(status(ctx, path).returncode, 2, "exit status on the cut file")
        os.remove(path)
        load()
        ctx.expect(told()["decisions"]["placed"] > now["decisions"]["placed"], "all is there again after a reconfigure")

        since = len(cluster.ctld_log())
        cluster.write_atoll_conf(cluster.default_atoll_conf() + "stats_file: /nowhere/at/all\n")
        cluster.reconfigure()
        loud = cluster.log_lines("error: atoll: /nowhere/at/all", since)
        ctx.expect_equal(len(loud), 1, "lines about a file that cannot be made")
        ctx.expect_equal(cluster.allocate("-N1", "--gres=gpu:1").gpu_count, 1, "and jobs run")
        load()
        cluster.stop_ctld()
        ctx.expect_equal(told()["state"], "stopped", "state after the end of slurmctld")
        cluster.start_ctld()
        again = told()
        ctx.expect_equal((again["state"], again["decisions"]["placed"]), ("on", 0), "state and counters after its start")
