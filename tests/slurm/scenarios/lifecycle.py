# SPDX-License-Identifier: Apache-2.0
"""What happens to jobs, nodes and slurmctld while jobs run."""

import re
import signal
import time

import boards
from cluster import SlurmError
from harness import scenario


def holdings(cluster):
    """job id → (state, nodes, GPUs by node) of all live jobs."""
    return {j.id: (j.state, j.nodes, j.gpus) for j in cluster.jobs().values()
            if j.state in ("RUNNING", "SUSPENDED", "CONFIGURING")}


def check_no_gpu_twice(ctx, cluster, where):
    """No GPU belongs to two live jobs, and slurmctld's count of used GPUs is the sum of the jobs'."""
    held = {}
    for job, (_, _, gpus) in holdings(cluster).items():
        for node, indices in gpus.items():
            for gpu in indices:
                held.setdefault((node, gpu), []).append(job)
    twice = {place: jobs for place, jobs in held.items() if len(jobs) > 1}
    ctx.expect(not twice, f"{where}: no GPU is handed out twice: {twice}")
    for name, node in cluster.nodes().items():
        of_jobs = sorted(gpu for place, gpu in held if place == name)
        ctx.expect_equal(node.gpu_count_used, len(of_jobs), f"{where}: GPUs of {name} that slurmctld counts as used")
        if node.gpus_used:
            ctx.expect_equal(node.gpus_used, of_jobs, f"{where}: which GPUs of {name} slurmctld counts as used")


def select_errors(cluster):
    """Error lines of slurmctld that concern gres or select; what makes a line unique (ids, times) is cut out."""

    lines = cluster.log_lines(r"error:.*(?i:gres|select|cons_tres|atoll|gpu|bitmap|underflow|corrupt)")
    return sorted({re.sub(r"\d+", "#", line.partition("] ")[2]) for line in lines})


def check_errors(ctx, stock, atoll):
    new = [e for e in atoll if e not in stock]
    ctx.expect(not new, f"slurmctld logs no error of gres or select that stock does not: {new}")


def _restarts(ctx, number):
    def drive(cluster):
        jobs = [cluster.start_job("-N1", "--gres=gpu:1"), cluster.start_job("-N2", "--gpus-per-node=3"),
                cluster.allocate("-N1", "--gres=gpu:4", "-n4"), cluster.allocate("-N1", "--gres=gpu:2"),
                cluster.allocate("-N2", "--gpus-per-node=8")]
        waiting = cluster.submit("-N4", "--gpus-per-node=8", "--hold")
        time.sleep(2.5 if number == signal.SIGKILL else 0)  # SIGKILL: let the saved state catch up
        before = holdings(cluster)
        cluster.restart_ctld(number)
        after = holdings(cluster)
        ctx.expect_equal(after, before, f"jobs and their GPUs after signal {number.name} and restart")
        check_no_gpu_twice(ctx, cluster, "after the restart")
        later = [cluster.allocate("-N1", f"--gres=gpu:{n}") for n in (2, 1)]
        full = cluster.try_run("salloc", "--no-shell", "--immediate=1", "-N1", "--gres=gpu:1")
        ctx.expect(full.returncode != 0, "with all 32 GPUs taken, one more is refused")
        check_no_gpu_twice(ctx, cluster, "later jobs")
        cluster.cancel(*(j.id for j in jobs), *(j.id for j in later))
        cluster.run("scontrol", "release", str(waiting))
        job = cluster.wait_state(waiting, "RUNNING")
        ctx.expect_equal(job.gpu_count, 32, "the waiting job gets all GPUs once the jobs from before the restart end")
        cluster.cancel(waiting)
        ctx.expect_equal([n.gpu_count_used for n in cluster.nodes().values()], [0] * 4, "all GPUs are free at the end")
        return select_errors(cluster)
    stock, atoll = ctx.both(boards.bridged(4), drive)
    if atoll is not None:
        check_errors(ctx, stock, atoll)


@scenario("slurmctld restarts with running jobs: states and GPUs kept, later jobs get free GPUs only")
def restart(ctx):
    _restarts(ctx, signal.SIGTERM)


@scenario("slurmctld is killed with running jobs and starts again")
def crash(ctx):
    _restarts(ctx, signal.SIGKILL)


@scenario("after a restart the bridges are still spared: the free state is rebuilt, not guessed")
def restart_free_state(ctx):
    with ctx.atoll(boards.bridged(1)) as cluster:
        single = cluster.allocate("-N1", "--gres=gpu:1").gpus["g1"]
        cluster.restart_ctld()
        second = cluster.allocate("-N1", "--gres=gpu:1").gpus["g1"]
        pairs = [cluster.allocate("-N1", "--gres=gpu:2").gpus["g1"] for _ in range(3)]
        ctx.say(f"1 GPU {single}, restart, 1 GPU {second}, then pairs {pairs}")
        ctx.expect(boards.free_pairs(single + second) == 3, f"two singles on one bridge: {single + second}")
        ctx.expect(all(boards.is_bridged(p) for p in pairs), f"three bridged pairs: {pairs}")


@scenario("a node is drained, resumed, set down while jobs run")
def drain_down(ctx):
    def drive(cluster):
        job = cluster.start_job("-N2", "--gpus-per-node=2")
        other = next(n for n in cluster.layout.names() if n not in job.nodes)
        first = job.nodes[0]
        cluster.drain(first)
        placed = [cluster.allocate("-N1", "--gres=gpu:1").nodes[0] for _ in range(3)]
        ctx.expect(first not in placed, f"no job starts on the drained {first}: {placed}")
        ctx.expect_equal(cluster.job(job.id).state, "RUNNING", "the job on the drained node goes on")
        refused = cluster.try_run("salloc", "--no-shell", "--immediate=1", "-N4", "--gres=gpu:1")
        ctx.expect(refused.returncode != 0, "a job of all nodes does not start while one is drained")
        cluster.resume(first)
        wide = cluster.allocate("-N4", "--gres=gpu:1", within=15)
        ctx.expect_equal(sorted(wide.nodes), cluster.layout.names(), "after resume all four nodes serve")
        check_no_gpu_twice(ctx, cluster, "after resume")
        victim = cluster.allocate("-N1", "-w", other, "--gres=gpu:4", "--no-kill")
        cluster.update_node(other, State="DOWN", Reason="test")
        gone = cluster.wait_state(wide.id, "ENDED")
        ctx.expect(gone.state in ("NODE_FAIL", "CANCELLED", "FAILED"), f"a job on a node set down ends ({gone.state})")
        refused = cluster.try_run("salloc", "--no-shell", "--immediate=1", "-N1", "-w", other, "--gres=gpu:1")
        ctx.expect(refused.returncode != 0, f"nothing starts on {other} while it is down")
        cluster.resume(other)
        cluster.cancel(victim.id)
        whole = cluster.allocate("-N1", "-w", other, "--exclusive", "--gres=gpu:8", within=15) \
            if not _held_on(cluster, other) else None
        check_no_gpu_twice(ctx, cluster, "after down and resume")
        if whole:
            ctx.expect_equal(len(whole.gpus[other]), 8, f"{other} gives all its GPUs after down and resume")
        cluster.cancel_all()
        ctx.expect_equal([n.gpu_count_used for n in cluster.nodes().values()], [0] * 4, "all GPUs are free at the end")
        return select_errors(cluster)
    stock, atoll = ctx.both(boards.bridged(4, slurm_conf=("ReturnToService=0",)), drive)
    if atoll is not None:
        check_errors(ctx, stock, atoll)


def _held_on(cluster, node):
    return any(node in nodes for _, nodes, _ in holdings(cluster).values())


@scenario("a job is suspended, resumed, requeued")
def suspend_requeue(ctx):
    def drive(cluster):
        job = cluster.start_job("-N1", "--gres=gpu:2", "--requeue")
        held = job.gpus
        cluster.run("scontrol", "suspend", str(job.id))
        ctx.expect_equal(cluster.job(job.id).state, "SUSPENDED", "suspended")
        beside = cluster.allocate("-N1", "--gres=gpu:4")
        check_no_gpu_twice(ctx, cluster, "beside a suspended job")
        cluster.run("scontrol", "resume", str(job.id))
        again = cluster.wait_state(job.id, "RUNNING")
        ctx.expect_equal(again.gpus, held, "GPUs after resume")
        cluster.run("scontrol", "requeue", str(job.id))
        cluster.wait_state(job.id, "PENDING", "RUNNING")
        cluster.run("scontrol", "update", f"JobId={job.id}", "StartTime=now")
        # A requeued job waits out BatchStartTimeout and its epilog; it must start again by itself.
        back = cluster.wait_state(job.id, "RUNNING", seconds=60)
        ctx.expect_equal(back.gpu_count, 2, "GPUs after requeue")
        check_no_gpu_twice(ctx, cluster, "after requeue")
        cluster.cancel(job.id, beside.id)
        ctx.expect_equal([n.gpu_count_used for n in cluster.nodes().values()], [0] * 4, "all GPUs are free at the end")
        return select_errors(cluster)
    stock, atoll = ctx.both(boards.bridged(4), drive)
    if atoll is not None:
        check_errors(ctx, stock, atoll)


@scenario("a job shrinks, ends in parts, fills and empties the cluster many times without losing a GPU")
def fill_and_empty(ctx):
    def drive(cluster):
        for round_number in range(3):
            started = []
            for shape in (("-N1", "--gres=gpu:3"), ("-N2", "--gpus-per-node=4"), ("--gpus=5",),
                          ("-n2", "--gpus-per-task=1")):
                for _ in range(6):
                    try:
                        started.append(cluster.allocate(*shape).id)
                    except SlurmError:
                        break
            check_no_gpu_twice(ctx, cluster, f"round {round_number}, full")
            cluster.cancel(*started[round_number::2])
            check_no_gpu_twice(ctx, cluster, f"round {round_number}, half empty")
            cluster.cancel_all()
        job = cluster.allocate("-N4", "--gpus-per-node=2")
        cluster.run("scontrol", "update", f"JobId={job.id}", f"NodeList={','.join(job.nodes[:2])}")
        ctx.expect_equal(len(cluster.job(job.id).nodes), 2, "nodes after shrinking")
        check_no_gpu_twice(ctx, cluster, "after shrinking")
        whole = [cluster.allocate("-N1", "-w", n, "--gres=gpu:8") for n in job.nodes[2:]]
        ctx.expect_equal([j.gpu_count for j in whole], [8, 8], "the nodes given back are whole")
        cluster.cancel_all()
        ctx.expect_equal([n.gpu_count_used for n in cluster.nodes().values()], [0] * 4, "all GPUs are free at the end")
        return select_errors(cluster)
    stock, atoll = ctx.both(boards.bridged(4), drive)
    if atoll is not None:
        check_errors(ctx, stock, atoll)
