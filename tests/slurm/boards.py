# SPDX-License-Identifier: Apache-2.0
"""The machines the scenarios run on, and the cluster files that describe them to Atoll.

    crossed bridges          two leaves of four, nodes dealt alternately
    socket 0: 0 1 2 3        root ─┬─ leaf1: g1 g3 g5 g7
    socket 1: 4 5 6 7              └─ leaf2: g2 g4 g6 g8
    bridges 0-2 1-3 4-6 5-7
"""

from conf import Layout

BRIDGES = ((0, 2), (1, 3), (4, 6), (5, 7))


def bridged(nodes=1, **more):
    return Layout(nodes=nodes, links=BRIDGES, **more)


def two_leaves(nodes=8, **more):
    names = [f"g{i + 1}" for i in range(nodes)]
    return Layout(nodes=nodes, leaves=[names[0::2], names[1::2]], **more)


def leaf_of(layout, node):
    """Index of the node's leaf."""
    return next(i for i, names in enumerate(layout.leaf_list()) if node in names)


def leaves_of(layout, nodes):
    return sorted({leaf_of(layout, n) for n in nodes})


def is_bridged(gpus):
    """Two GPUs on one bridge."""
    return tuple(sorted(gpus)) in BRIDGES


def whole_pairs(gpus):
    """How many bridges lie wholly inside the set."""
    return sum(1 for a, b in BRIDGES if a in gpus and b in gpus)


def free_pairs(used, gpus=range(8)):
    return whole_pairs(set(gpus) - set(used))


# What a bridge, one socket and the way between sockets are worth on the boards above: (GB/s, µs), as
# plausible as the link class allows and marked `estimated`.
BRIDGE, SAME_SOCKET, ACROSS = (90.5, 2.1), (21.5, 4.2), (17.5, 5.6)


def _pair_cost(layout, a, b):
    if frozenset((a, b)) in {frozenset(p) for p in layout.links}:
        return "NV4", BRIDGE
    near = layout.cores_of_gpu(a) == layout.cores_of_gpu(b)
    return ("PHB", SAME_SOCKET) if near else ("SYS", ACROSS)


def link_name(layout, a, b):
    """The link class as `nvidia-smi topo -m` names it."""
    return _pair_cost(layout, a, b)[0]


def _table(layout, cell, diagonal):
    return [f"          - {' '.join(diagonal if a == b else cell(a, b) for b in range(layout.gpus))}"
            for a in range(layout.gpus)]


def cluster_file(layout, source="estimated"):
    """The cluster file (docs/file-format.md) that describes the layout: one class, its bridges, its leaves."""
    sockets = [range(s * layout.cores_per_socket, (s + 1) * layout.cores_per_socket) for s in range(layout.sockets)]
    lines = ["apiVersion: atoll/v1", "kind: Cluster", "name: test board", "classes:", "  - name: board",
             f"    cores: {layout.sockets * layout.cores_per_socket}", f"    threads_per_core: {layout.threads}",
             "    numa:"]
    lines += [f"      - {{id: {i}, cpus: {c[0]}-{c[-1]}}}" for i, c in enumerate(sockets)]
    lines.append("    gpus:")
    for gpu in range(layout.gpus):
        near = layout.cores_of_gpu(gpu)
        lines.append(f"      - {{name: GPU{gpu}, numa: {sockets.index(near)}, cpus: {near[0]}-{near[-1]}}}")
    lines.append("    gpu_links:")
    lines += [line[4:] for line in _table(layout, lambda a, b: link_name(layout, a, b), "X")]
    lines += ["    costs:", "      - from: gpu", "        to: gpu", "        engine: ce", f"        source: {source}",
              "        gb_per_s:"]
    lines += _table(layout, lambda a, b: str(_pair_cost(layout, a, b)[1][0]), "x")
    lines.append("        alpha_us:")
    lines += _table(layout, lambda a, b: str(_pair_cost(layout, a, b)[1][1]), "x")
    lines += ["nodes:", f"  - {{class: board, hosts: 'g[1-{layout.nodes}]'}}", "fabric:", "  form: tree", "  switches:"]
    leaves = layout.leaf_list()
    lines += [f"    - {{name: leaf{i + 1}, nodes: '{','.join(names)}'}}" for i, names in enumerate(leaves)]
    if len(leaves) > 1:
        lines.append(f"    - {{name: root, switches: 'leaf[1-{len(leaves)}]'}}")
    return "\n".join(lines) + "\n"


def with_nics(text, layout):
    """The file with a NIC for each GPU, mlx5_0 …, on the GPU's NUMA node."""
    per_socket = layout.gpus // layout.sockets
    rows = [f"      - {{name: mlx5_{i}, numa: {i // per_socket}}}" for i in range(layout.gpus)]
    return text.replace("    gpu_links:", "\n".join(["    nics:", *rows, "    gpu_links:"]), 1)


def with_bandwidth(text, value):
    """The file with one bandwidth of a bridge replaced."""
    return text.replace(f" {BRIDGE[0]} ", f" {value} ", 1)
