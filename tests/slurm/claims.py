# SPDX-License-Identifier: Apache-2.0
"""What must hold of the jobs that have their nodes, whoever placed them: nothing is handed out twice, and each
job got what it asked. A finding is (kind, text); the kind names the rule, so that two clusters can be compared."""

from streams import FEATURES, PARTITION_NODES

LIVE = ("RUNNING", "CONFIGURING", "SUSPENDED")


def started(jobs):
    return {i: j for i, j in jobs.items() if j.state in LIVE}


def shares_cores(job):
    """Cores of such jobs may be lent twice: OverSubscribe=YES or FORCE in the partition and asked by the job."""
    return job.fields.get("OverSubscribe") == "YES"


def has_whole_nodes(job):
    return job.fields.get("OverSubscribe") in ("NO", "EXCLUSIVE") or job.fields.get("Partition") == "alone"


def handed_out_twice(jobs, nodes):
    """nodes: what slurmctld says of them; its own sums must agree with the jobs'."""
    gpus, cores, memory = {}, {}, {}
    for job in started(jobs).values():
        for node, indices in job.gpus.items():
            for gpu in indices:
                gpus.setdefault((node, gpu), []).append(job.id)
        for node, indices in job.cpus.items():
            for cpu in () if shares_cores(job) else indices:
                cores.setdefault((node, cpu), []).append(job.id)
        for node, amount in job.memory.items():
            memory[node] = memory.get(node, 0) + amount
    for kind, held in (("GPU twice", gpus), ("core twice", cores)):
        for (node, index), owners in held.items():
            if len(owners) > 1:
                yield kind, f"{kind}: {index} of {node} belongs to jobs {owners}"
    for name, node in nodes.items():
        count = sum(1 for place in gpus if place[0] == name)
        if node.gpu_count_used != count:
            yield "GPU count", f"slurmctld counts {node.gpu_count_used} GPUs of {name} as used, its jobs hold {count}"
        if memory.get(name, 0) > int(node.fields["RealMemory"]):
            yield "memory twice", f"jobs hold {memory[name]} MB of {name}, which has {node.fields['RealMemory']}"
    for job in started(jobs).values():
        if has_whole_nodes(job):
            others = {o.id for o in started(jobs).values() if o.id != job.id and set(o.nodes) & set(job.nodes)}
            if others:
                yield "not exclusive", f"job {job.id} has its nodes to itself, yet jobs {sorted(others)} are there"


def started_though_held(jobs):
    """Where it cannot lay out the tasks, select holds the job (priority 0); an attempt that is taken back must not."""
    for job in started(jobs).values():
        if job.fields.get("Priority") == "0":
            yield "held", f"job {job.id} has started, yet its priority is 0: requeued, it would be held"


def _counts(job, wish, whole):
    """Nodes, GPUs, CPUs. whole: the job gets nodes whole, GPUs and all."""
    low, high = wish.get("nodes", (1, 10**6))
    if "tasks" in wish and wish.get("per_node") is None:  # Slurm takes no more nodes than there are tasks
        low = min(low, wish["tasks"])
    if not low <= len(job.nodes) <= high:
        yield "nodes", f"{len(job.nodes)} nodes, asked {low}-{high}"
    if "total" in wish and (job.gpu_count < wish["total"] if whole else job.gpu_count != wish["total"]):
        yield "GPUs", f"{job.gpu_count} GPUs, asked {wish['total']}"
    for node in job.nodes if "per_node" in wish else ():
        got = len(job.gpus.get(node, ()))
        if got < wish["per_node"] if whole else got != wish["per_node"]:
            yield "GPUs per node", f"{got} GPUs on {node}, asked {wish['per_node']}"
    if "per_task" in wish and not whole and job.gpu_count != wish["per_task"] * wish["tasks"]:
        yield "GPUs per task", f"{job.gpu_count} GPUs, asked {wish['per_task']} for each of {wish['tasks']} tasks"
    if not any(key in wish for key in ("total", "per_node", "per_task")) and job.gpu_count and not whole \
            and "socket" not in wish:
        yield "GPUs unasked", f"{job.gpu_count} GPUs, asked none"
    cpus = sum(len(c) for c in job.cpus.values())
    needed = wish.get("tasks", 1) * wish.get("cpus_per_task", 1)
    if cpus < needed and wish.get("rare") != "-O":
        yield "CPUs", f"{cpus} CPUs, asked {needed}"
    if "cpus_per_gpu" in wish and not whole and cpus < job.gpu_count * wish["cpus_per_gpu"]:  # not so on each node
        yield "CPUs per GPU", f"{cpus} CPUs for {job.gpu_count} GPUs, asked {wish['cpus_per_gpu']} for each"


def _where(job, wish, shape):
    names = set(job.nodes)
    if not set(wish.get("nodelist", ())) <= names:
        yield "nodelist", f"nodes {job.nodes}, asked {wish['nodelist']} among them"
    if names & set(wish.get("exclude", ())):
        yield "exclude", f"nodes {job.nodes}, asked none of {wish['exclude']}"
    partition = job.fields.get("Partition")
    if not names <= set(PARTITION_NODES.get(partition, names)):
        yield "partition", f"nodes {job.nodes}, some of them not in {partition}"
    with_feature = {f: {f"g{i}" for i in numbers} for f, numbers in FEATURES.items()}
    allowed = {"fast": with_feature["fast"], "wide": with_feature["wide"],
               "fast&wide": with_feature["fast"] & with_feature["wide"],
               "fast|wide": with_feature["fast"] | with_feature["wide"]}.get(wish.get("constraint"))
    if allowed is not None and not names <= allowed:
        yield "constraint", f"nodes {job.nodes}, asked {wish['constraint']}"
    if wish.get("constraint") == "[fast|wide]" and not any(names <= nodes for nodes in with_feature.values()):
        yield "constraint", f"nodes {job.nodes}, asked all of them fast or all wide"
    if wish.get("constraint") == "fast*1" and not names & with_feature["fast"]:
        yield "constraint", f"nodes {job.nodes}, asked one fast node"
    for node, gpus in job.gpus.items() if "type" in wish else ():
        wrong = [g for g in gpus if shape.type_of(node, g) != wish["type"]]
        if wrong:
            yield "type", f"GPUs {wrong} of {node} are not of type {wish['type']}"


def _memory(job, wish):
    for node in job.nodes:
        got = job.memory.get(node, 0)
        for key, needed in (("mem", wish.get("mem", 0)),
                            ("mem_per_gpu", wish.get("mem_per_gpu", 0) * len(job.gpus.get(node, ())))):
            if got < needed:
                yield key, f"{got} MB on {node}, asked {needed}"


def _contiguous(job, names):
    at = sorted(names.index(n) for n in job.nodes)
    if at != list(range(at[0], at[0] + len(at))):
        yield "contiguous", f"nodes {job.nodes} do not follow each other"


def not_as_asked(job, wish, shape):
    """Findings about one job that has its nodes."""
    whole = has_whole_nodes(job)
    yield from _counts(job, wish, whole)
    yield from _where(job, wish, shape)
    if shape.memory:
        yield from _memory(job, wish)
    if wish.get("rare") == "--contiguous":
        yield from _contiguous(job, shape.layout.all_names())
