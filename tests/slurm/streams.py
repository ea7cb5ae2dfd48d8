# SPDX-License-Identifier: Apache-2.0
"""What `differential` drives: the shape of a cluster and a stream of steps, both drawn from a seed.

A step is a list of operations (dicts). Jobs are named by their number in the stream, so that a stream from
which steps were dropped still means the same jobs. Which running job an event hits is drawn by a fraction:
the clusters differ in what runs.
"""

import dataclasses
import random

from boards import BRIDGES
from conf import Layout

NODES, PLAIN, GPUS = 16, 2, 8
PARTITIONS = (
    "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    "PartitionName=left Nodes=g[1-8] MaxTime=INFINITE State=UP{left}",
    "PartitionName=alone Nodes=g[11-16] OverSubscribe=EXCLUSIVE MaxTime=INFINITE State=UP",
    "PartitionName=first Nodes=g[3-14],c1 PriorityTier=10 MaxTime=INFINITE State=UP{first}",
)
PARTITION_NODES = {"left": [f"g{i}" for i in range(1, 9)], "alone": [f"g{i}" for i in range(11, 17)],
                   "first": [f"g{i}" for i in range(3, 15)] + ["c1"]}
FEATURES = {"fast": range(1, 11), "wide": range(7, 17)}  # numbers of the nodes that have it


@dataclasses.dataclass
class Shape:
    """types: of each node's GPUs, in index order, as (name, count) pairs; "" for no type."""
    layout: Layout
    types: dict
    weights: dict
    known: int  # GPU nodes that the cluster file names: g1 … g<known>
    memory: bool
    words: str  # for people

    def node_lines(self):
        """NodeName= lines; one a node, since they may differ."""
        layout = self.layout
        cpus = layout.sockets * layout.cores_per_socket * layout.threads
        for number, name in enumerate(layout.all_names(), 1):
            gres = ",".join(f"gpu:{t}:{n}" if t else f"gpu:{n}" for t, n in self.types.get(name, ()))
            features = ",".join(f for f, nodes in FEATURES.items() if name[0] == "g" and number in nodes)
            yield (f"NodeName={name} NodeAddr=127.0.0.1 CPUs={cpus} Sockets={layout.sockets} "
                   f"CoresPerSocket={layout.cores_per_socket} ThreadsPerCore={layout.threads} "
                   f"RealMemory={layout.memory_mb} Weight={self.weights.get(name, 1)}"
                   + (f" Gres={gres}" if gres else "") + (f" Feature={features}" if features else "") + " State=CLOUD")

    def gres_lines(self, folder):
        layout = self.layout
        yield "AutoDetect=off"
        for name, types in self.types.items():
            kinds = [t for t, n in types for _ in range(n)]
            for gpu, kind in enumerate(kinds):
                near = layout.cores_of_gpu(gpu)
                cores = {"near": f" Cores={near[0]}-{near[-1]}", "": "",
                         "all": f" Cores=0-{layout.sockets * layout.cores_per_socket - 1}"}[layout.gres_cores]
                links = f" Links={','.join(layout.links_row(gpu))}" if layout.stock_links else ""
                yield (f"NodeName={name} Name=gpu{f' Type={kind}' if kind else ''} File={folder}/dev/gpu{gpu}"
                       f"{cores}{links}")

    def type_of(self, node, gpu):
        return [t for t, n in self.types[node] for _ in range(n)][gpu]


def make_shape(seed):
    rng = random.Random(f"shape {seed}")
    names = [f"g{i + 1}" for i in range(NODES)]
    typing = rng.choice(("none", "none", "one", "by node", "in node"))
    types = {name: {"none": (("", GPUS),), "one": (("a", GPUS),), "in node": (("a", 5), ("b", 3)),
                    "by node": (("a" if i % 3 else "b", GPUS),)}[typing] for i, name in enumerate(names)}
    if rng.random() < 0.25:  # one node lacks two GPUs: it differs from the cluster file
        types["g5"] = tuple((t, n - 2) for t, n in types["g5"][:1]) + types["g5"][1:]
    select = rng.choice(("CR_Core", "CR_Core", "CR_Core_Memory", "CR_Core_Memory", "CR_CPU_Memory", "CR_Socket",
                         "CR_Core,CR_CORE_DEFAULT_DIST_BLOCK", "CR_Core_Memory,CR_Pack_Nodes",
                         "CR_Core,CR_ONE_TASK_PER_CORE"))
    memory = "Memory" in select
    conf = [f"SelectTypeParameters={select}"]
    if memory:
        conf += rng.choice(([], ["DefMemPerCPU=900"], ["DefMemPerGPU=6000"], ["DefMemPerNode=8000"]))
    preempts = rng.random() < 0.2
    if preempts:
        conf += ["PreemptType=preempt/partition_prio", "PreemptMode=CANCEL"]
    limits = {"left": rng.choice(("", "", " MaxCPUsPerNode=16", " MaxNodes=3", " DefCpuPerGPU=3")),
              "first": rng.choice(("", "", " DefCpuPerGPU=2", " OverSubscribe=YES:2", " ExclusiveUser=YES"))}
    layout = Layout(nodes=NODES, plain=PLAIN, gpus=GPUS, threads=rng.choice((1, 1, 2)), links=BRIDGES, cloud=True,
                    leaves=[names[i::4] for i in range(3)] + [[*names[3::4], *(f"c{i + 1}" for i in range(PLAIN))]],
                    gres_cores=rng.choice(("near", "near", "all", "")), stock_links=rng.random() < 0.5,
                    partitions=tuple(p.format(**limits) for p in PARTITIONS), slurm_conf=tuple(conf),
                    scheduler="batch_sched_delay=0,sched_interval=1,bf_interval=1,bf_continue,bf_window=2880")
    weights = {name: rng.choice((1, 5, 20)) for name in layout.all_names()} if rng.random() < 0.4 else {}
    known = rng.choice((NODES, NODES, NODES, NODES - 3))
    words = (f"{select}{' preempting' if preempts else ''}, types {typing}, Cores= {layout.gres_cores or 'none'}, "
             f"{layout.threads} threads, {'weights, ' if weights else ''}{known} nodes known"
             + "".join(f", {part}{limit}" for part, limit in limits.items() if limit))
    return Shape(layout, types, weights, known, memory, words)


def _gpus(rng, shape, wish, options):
    """The GPU part of a request."""
    form = rng.choices(("node", "gres", "total", "task", "socket", "none"), (5, 5, 4, 3, 0.5, 2))[0]
    kinds = sorted({t for types in shape.types.values() for t, _ in types if t})
    kind = rng.choice(kinds) if kinds and rng.random() < 0.5 else ""
    name = f"{kind}:" if kind else ""
    if kind and form != "none":
        wish["type"] = kind
    if form in ("node", "gres"):
        wish["per_node"] = rng.choice((1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 8))
        options.append(f"--gpus-per-node={name}{wish['per_node']}" if form == "node"
                       else f"--gres=gpu:{name}{wish['per_node']}")
    elif form == "total":
        wish["total"] = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 20, 24, 33))
        options.append(f"--gpus={name}{wish['total']}")
    elif form == "task":
        wish["per_task"] = rng.choice((1, 1, 1, 2, 3, 4))
        wish["tasks"] = rng.choice((1, 2, 3, 4, 5, 6, 8, 12, 16))
        options += [f"--gpus-per-task={name}{wish['per_task']}", f"-n{wish['tasks']}"]
    elif form == "socket":
        wish["socket"] = True
        options += [f"--gpus-per-socket={name}{rng.choice((1, 2))}", f"--sockets-per-node={rng.choice((1, 2))}"]
    return form


def _nodes(rng, form, wish, options):
    low = rng.choice((1, 1, 1, 1, 2, 2, 3, 4, 6, 9))
    kind = rng.choices(("none", "exact", "range"), (3, 5, 1) if form not in ("node", "gres") else (1, 6, 1))[0]
    if kind == "exact":
        wish["nodes"] = (low, low)
        options.append(f"-N{low}")
    elif kind == "range":
        wish["nodes"] = (low, low + rng.choice((1, 2, 4)))
        options.append(f"-N{wish['nodes'][0]}-{wish['nodes'][1]}")


def _cpus(rng, form, wish, options):
    if form != "task" and rng.random() < 0.45:
        wish["tasks"] = max(wish.get("nodes", (1, 1))[0], rng.choice((1, 2, 4, 6, 8, 16, 24, 40)))
        options.append(f"-n{wish['tasks']}")
    draw = rng.random()
    if draw < 0.15 and form != "none":
        wish["cpus_per_gpu"] = rng.choice((1, 2, 3, 4, 6))
        options.append(f"--cpus-per-gpu={wish['cpus_per_gpu']}")
    elif draw < 0.35:
        wish["cpus_per_task"] = rng.choice((1, 2, 3, 4, 8, 12, 16, 20))
        options.append(f"-c{wish['cpus_per_task']}")
    elif draw < 0.42:
        options.append(f"--ntasks-per-node={rng.choice((1, 2, 4, 8))}")
    elif draw < 0.46 and form == "total":
        options.append(f"--ntasks-per-gpu={rng.choice((1, 2))}")


RARE = (
    (5, lambda rng: ["--exclusive"]), (2, lambda rng: ["--contiguous"]), (1, lambda rng: ["--switches=1"]),
    (1, lambda rng: ["--spread-job"]), (2, lambda rng: ["--use-min-nodes"]), (2, lambda rng: ["-O"]),
    (3, lambda rng: ["--gres-flags=enforce-binding"]), (2, lambda rng: ["--gres-flags=disable-binding"]),
    (2, lambda rng: ["--hint=nomultithread"]), (1, lambda rng: ["--threads-per-core=1"]),
    (2, lambda rng: [f"-m{rng.choice(('cyclic', 'block', 'block:cyclic', 'plane=2'))}"]),
    (2, lambda rng: [f"--mincpus={rng.choice((4, 10, 20))}"]), (1, lambda rng: ["--ntasks-per-socket=2"]),
    (2, lambda rng: ["--oversubscribe"]), (1, lambda rng: ["--nice=50"]), (1, lambda rng: ["--sockets-per-node=1"]),
)


def _places(rng, wish, options):
    draw = rng.random()
    if draw < 0.1:
        count = rng.choice((1, 1, 2, 3))
        wish["nodelist"] = [f"g{i}" for i in rng.sample(range(1, NODES + 1), count)]
        options.append(f"-w{','.join(wish['nodelist'])}")
    elif draw < 0.2:
        wish["exclude"] = [f"g{i}" for i in rng.sample(range(1, NODES + 1), rng.choice((1, 3, 8)))]
        options.append(f"-x{','.join(wish['exclude'])}")
    elif draw < 0.32:
        wish["constraint"] = rng.choice(("fast", "wide", "fast&wide", "fast|wide", "[fast|wide]", "fast*1"))
        options.append(f"-C{wish['constraint']}")
    draw = rng.random()
    if draw < 0.3:
        wish["partition"] = rng.choice(sorted(PARTITION_NODES))
        options.append(f"-p{wish['partition']}")
    elif draw < 0.35:
        options.append("-pleft,first,main")


def make_job(rng, shape):
    wish, options = {}, []
    form = _gpus(rng, shape, wish, options)
    _nodes(rng, form, wish, options)
    _cpus(rng, form, wish, options)
    _places(rng, wish, options)
    if rng.random() < (0.3 if shape.memory else 0.05):
        kind = rng.choice(("--mem", "--mem", "--mem-per-gpu", "--mem-per-cpu"))
        amount = {"--mem": rng.choice((0, 4000, 20000, 60000)), "--mem-per-gpu": rng.choice((1000, 8000, 16000)),
                  "--mem-per-cpu": rng.choice((500, 2000, 9000))}[kind]
        if kind != "--mem-per-gpu" or form != "none":
            options.append(f"{kind}={amount}")
            wish[kind[2:].replace("-", "_")] = amount
    if rng.random() < 0.3:
        more = rng.choices([f for _, f in RARE], [w for w, _ in RARE])[0](rng)
        options += more
        wish["rare"] = more[0]
    options.append(f"-t{rng.choice((5, 30, 30, 120, 1400))}")
    return {"op": "submit", "options": options, "wish": wish}


EVENTS = (("cancel", 10), ("hold", 2), ("release", 3), ("drain", 2), ("resume", 3), ("reconfigure", 2), ("restart", 1),
          ("reserve", 1), ("unreserve", 1), ("weight", 1), ("down", 0.5), ("change", 2))


def make_event(rng):
    name = rng.choices([n for n, _ in EVENTS], [w for _, w in EVENTS])[0]
    return {"op": name, "picks": [rng.random() for _ in range(rng.choice((1, 1, 2, 4)))],
            "node": f"g{rng.randint(1, NODES)}", "value": rng.random()}


def make_steps(seed, count, shape):
    """Each: events and some jobs. The first steps only fill the cluster."""
    rng = random.Random(f"steps {seed}")
    steps, number = [], 0
    for at in range(count):
        step = [make_event(rng) for _ in range(rng.choice((0, 1, 1, 2)))] if at >= 2 else []
        for _ in range(rng.choice((3, 4, 5)) if at >= 2 else 6):
            step.append({**make_job(rng, shape), "number": number})
            number += 1
        rng.shuffle(step)
        steps.append(step)
    return steps
