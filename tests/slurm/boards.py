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


def cluster_file(layout, atoll_program=None):
    return None
