# SPDX-License-Identifier: Apache-2.0
"""spank_atoll.so: the option --atoll, what tasks find, and that nothing of it can fail a job."""

import json
import os
import re

import boards
from conf import Layout
from harness import NotHere, scenario
from scenarios.ranks import BY_FABRIC, batch, need, places, ranks

BAD = ("pattern=rin", "message=-5", "message=nan", "tp=0", "tp=two", "policy=fast", "colour=red", "tp=2,tp=2", "tp",
       "pattern=matrix", "tp=2,", "policy=pack pp=2", "message=" + "9" * 600)
GOOD = ("pattern=ring", "pattern=all-to-all,message=256M", "tp=8,pp=2,dp=2", "policy=spread", "policy=off", "policy=pack")
SHOW = ('echo "rank $SLURM_PROCID cuda $CUDA_VISIBLE_DEVICES gpus $ATOLL_GPUS nccl $NCCL_IB_HCA ucx $UCX_NET_DEVICES '
        'topo $NCCL_TOPO_FILE cpus $(grep Cpus_allowed_list /proc/self/status | cut -f2)"')


def spank(ctx, layout, args="", conf="", text=None, **options):
    if ctx.plugin and not os.path.isfile(os.path.join(os.path.dirname(ctx.plugin), "spank_atoll.so")):
        raise NotHere("no spank_atoll.so beside the plugin")
    return ctx.atoll(layout, spank=args, cluster_file=text or boards.with_nics(boards.cluster_file(layout), layout),
                     **options)


def reconfigured(cluster, more):
    """atoll.yaml with further lines; steps read it when they start."""
    cluster.write_atoll_conf(cluster.default_atoll_conf() + more)


def tasks(cluster, *argv, env=None):
    """What the tasks of one srun say of themselves, in rank order: name → value."""
    done = cluster.try_run("srun", *argv, "sh", "-c", SHOW, seconds=60, env=env)
    if done.returncode:
        raise RuntimeError(f"srun {' '.join(argv)}: exit {done.returncode}: {done.stderr}")
    words = [re.findall(r"(\w+) (\S*)(?= |$)", place) for place in places(done.stdout)]
    return [dict(pairs) for pairs in words], done.stderr


@scenario("--atoll: a bad value is refused at submission with a word on it, and no job; good ones reach slurmctld")
def option(ctx):
    layout = boards.two_leaves(4)
    with spank(ctx, layout) as cluster:
        reconfigured(cluster, "log_decisions: true\n")
        cluster.reconfigure()
        commands = {"sbatch": ("--output=/dev/null", "--wrap", "true"), "srun": ("true",), "salloc": ("true",)}
        said = {}
        for value in BAD:
            for command, rest in commands.items():
                done = cluster.try_run(command, f"--atoll={value}", "-N1", "--gres=gpu:1", *rest)
                said[value] = done.stderr.strip().splitlines()[0][:150] if done.stderr.strip() else ""
                ctx.expect(done.returncode != 0 and "--atoll" in done.stderr,
                           f"{command} --atoll={value[:40]} refused: exit {done.returncode}, {done.stderr.strip()[:200]}")
        ctx.say("\n      ".join(f"{value[:24]:24} {line}" for value, line in said.items()))
        ctx.expect_equal(cluster.jobs(), {}, "jobs after all these")
        for value in GOOD:
            job = cluster.start_job(f"--atoll={value}", "--gpus=2", "-n2", seconds=2)
            line = cluster.log_lines(rf"atoll: JobId={job.id} ")[-1].partition("atoll: ")[2]
            ctx.say(f"{value}: {job.gpus}; {line}")
            ctx.expect_equal("asks policy=off" in line, value == "policy=off", f"{value}: left to Slurm")
            ctx.expect_equal(len(job.nodes), 2 if value == "policy=spread" else 1, f"{value}: nodes of two GPUs")
            cluster.cancel_all()
        ctx.expect_equal(cluster.log_lines("atoll: .*ignored"), [], "lines on hints that were ignored")


@scenario("tasks find their GPUs in ring order, their NIC, the topology file, and run on near cores unless bound")
def tasks_near(ctx):
    need(ctx)
    if len(os.sched_getaffinity(0) & {0, 1}) < 2:
        raise NotHere("CPUs 0 and 1 are needed to tell two sockets apart")
    layout = Layout(nodes=1, gpus=4, cores_per_socket=4, links=((0, 2), (1, 2), (1, 3), (0, 3)))
    text = boards.with_nics(boards.cluster_file(layout), layout)
    text = text.replace("cpus: 0-3", "cpus: 0-0").replace("cpus: 4-7", "cpus: 1-1")  # CPUs that this machine has
    with spank(ctx, layout, text=text) as cluster:
        topo_file = os.path.join(cluster.folder, "topo.xml")
        with open(topo_file, "w") as f:
            f.write("<system/>\n")
        reconfigured(cluster, f"nccl_topo_file: {topo_file}\n")
        order = [r["gpu"] for r in json.loads(ranks(ctx, cluster, "--nodes", "g1", "--json"))["ranks"]]
        ctx.say(f"ring order {order}")
        around = zip(order, order[1:] + order[:1])
        ctx.expect(all((min(p), max(p)) in layout.links for p in around), f"the ring goes over the bridges: {order}")
        all_tasks, _ = tasks(cluster, "-N1", "-n4", "--gres=gpu:4")
        for task, gpu in zip(all_tasks, order):
            ctx.expect_equal(task["cuda"], ",".join(map(str, order)), "CUDA_VISIBLE_DEVICES")
            ctx.expect_equal((task["nccl"], task["ucx"]), (f"=mlx5_{gpu}", f"mlx5_{gpu}:1"), f"NIC of GPU {gpu}")
            ctx.expect_equal(task["cpus"], str(gpu // 2), f"cores of GPU {gpu}")
            ctx.expect_equal(task["topo"], topo_file, "NCCL_TOPO_FILE")
        one, _ = tasks(cluster, "-N1", "-n1", "-c2", "--gres=gpu:4")
        ctx.expect_equal(one[0]["nccl"], "=" + ",".join(f"mlx5_{g}" for g in order), "NICs of one task with all GPUs")
        ctx.expect_equal(one[0]["cpus"], "0-1", "its cores")
        own, _ = tasks(cluster, "-N1", "-n2", "--gpus-per-task=2", "--gpu-bind=per_task:2")
        ctx.say(f"two tasks with two GPUs each: {own}")
        ctx.expect(all(len(t["gpus"].split(",")) == 2 for t in own) and own[0]["gpus"] != own[1]["gpus"],
                   "GPUs that Slurm gave to each task stay its own")
        ctx.expect(all(t["nccl"] == "=" + ",".join(f"mlx5_{g}" for g in t["gpus"].split(",")) for t in own),
                   "and their NICs go with them")
        bound, _ = tasks(cluster, "-N1", "-n2", "--cpu-bind=none", "--gres=gpu:4")
        ctx.expect_equal([t["cpus"] for t in bound], ["0-1", "0-1"], "cores after --cpu-bind=none")
        mine, _ = tasks(cluster, "-N1", "-n1", "--gres=gpu:2", env={"NCCL_IB_HCA": "mine", "NCCL_TOPO_FILE": "/mine"})
        ctx.expect_equal((mine[0]["nccl"], mine[0]["topo"]), ("mine", "/mine"), "what the user has set himself")


@scenario("a batch script finds the hosts in rank order, as a file for srun -m arbitrary; its --atoll holds for its srun")
def script(ctx):
    layout = boards.two_leaves(4)
    with spank(ctx, layout) as cluster:
        said = batch(cluster, """
            echo order $ATOLL_RANK_ORDER
            echo file $ATOLL_HOSTFILE
            SLURM_HOSTFILE=$ATOLL_HOSTFILE srun -n8 -m arbitrary --overlap sh -c \
                'echo rank $SLURM_PROCID $SLURMD_NODENAME'
            """, "-N4", "--ntasks-per-node=2", "--gpus-per-node=2")
        ctx.say(said.splitlines()[:2])
        ctx.expect_equal(places(said), [n for n in BY_FABRIC for _ in range(2)], "hosts of srun's ranks")
        ctx.expect("order g[1,3,2,4]" in said, "ATOLL_RANK_ORDER")
        path = re.search(r"^file (\S+)", said, re.M)
        if ctx.expect(path, "ATOLL_HOSTFILE"):
            cluster.until(lambda: not os.path.exists(path.group(1)), 10, "the removal of the host file")
        show = "echo script $ATOLL_GPUS; srun -n1 --overlap sh -c 'echo task ${ATOLL_GPUS:-none}'\n"
        on = batch(cluster, show, "-N1", "--gres=gpu:2").split()
        off = batch(cluster, show, "-N1", "--gres=gpu:2", "--atoll=policy=off").split()
        ctx.expect_equal(on, ["script", "0,1", "task", "0,1"], "ATOLL_GPUS of script and srun")
        ctx.expect_equal(off, ["script", "task", "none"], "after sbatch --atoll=policy=off, in its srun too")


@scenario("switched off, without files or with broken ones, jobs run as without the plugin; a fault is said once")
def harmless(ctx):
    layout = boards.bridged(2)
    plain = "cuda 0,1,2,3,4,5,6,7"

    def look(cluster, name, lines):
        done = cluster.try_run("srun", "-N2", "-n4", "--gres=gpu:8", "sh", "-c", "echo cuda $CUDA_VISIBLE_DEVICES")
        ctx.say(f"{name}: {done.stdout.split(chr(10))[0]} {done.stderr.strip()}")
        ctx.expect_equal((done.returncode, set(done.stdout.splitlines())), (0, {plain}), f"{name}: tasks")
        ctx.expect_equal(done.stderr.count("atoll:"), lines, f"{name}: lines of ours")

    with spank(ctx, layout) as cluster:
        conf = cluster.default_atoll_conf()
        for name, text, lines in (("no atoll.yaml", "", 0), ("mode: off", "mode: off\n", 0),
                                  ("broken atoll.yaml", "cluster_file: [\n", 1),
                                  ("cluster file missing", "cluster_file: nowhere.yaml\n", 1)):
            cluster.write_atoll_conf(text)
            look(cluster, name, lines)
        cluster.write_atoll_conf(conf)
        for name, content in (("cut cluster file", boards.cluster_file(layout)[:400]), ("binary", bytes(range(256)) * 9),
                              ("empty", "")):
            cluster.write_cluster_file(content)
            look(cluster, name, 1)
        cluster.write_cluster_file(boards.cluster_file(layout).replace("g[1-2]", "h[1-2]"))
        look(cluster, "nodes that the file does not name", 0)
        os.remove(cluster.cluster_path)
        os.mkfifo(cluster.cluster_path)
        look(cluster, "a pipe in its place", 1)
    with spank(ctx, layout, args="off") as cluster:
        look(cluster, "off in plugstack.conf", 0)
