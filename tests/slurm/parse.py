# SPDX-License-Identifier: Apache-2.0
"""Reads what scontrol prints: hostlists, index ranges, jobs and nodes."""

import dataclasses
import re


def expand_indices(text):
    """"0-1,4" → [0, 1, 4]; "" → []."""
    out = []
    for part in filter(None, text.split(",")):
        low, dash, high = part.partition("-")
        out.extend(range(int(low), int(high) + 1) if dash else [int(low)])
    return out


def expand_hosts(text):
    """"g[1-2,05],h7" → ["g1", "g2", "g05", "h7"]."""
    out = []
    for part in re.findall(r"[^,\[\]]+(?:\[[^\]]*\])?[^,\[\]]*", text or ""):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if not match:
            out.append(part)
            continue
        head, ranges, tail = match.groups()
        for piece in ranges.split(","):
            low, dash, high = piece.partition("-")
            for value in range(int(low), int(high if dash else low) + 1):
                out.append(f"{head}{value:0{len(low)}d}{tail}")
    return out


def fields(line):
    """The KEY=value pairs of a line of `scontrol -o`; the first of a repeated key wins."""
    out = {}
    for match in re.finditer(r"(?:^|\s)([A-Za-z][A-Za-z/_:.]*)=(\S*)", line):
        out.setdefault(match.group(1), match.group(2))
    return out


def gres_indices(text):
    """"gpu:a100:2(IDX:0-1),gpu:1(IDX:4)" → [0, 1, 4]."""
    out = []
    for part in re.findall(r"gpu(?:\(null\)|[^(),])*\(IDX:([0-9,\-]*)\)", text or ""):
        out.extend(expand_indices(part))
    return sorted(out)


@dataclasses.dataclass
class Job:
    """One job as `scontrol -o show job -d` tells it. gpus and cpus: node name → indices; memory: node name → MB."""
    id: int
    state: str
    reason: str
    nodes: list
    gpus: dict
    cpus: dict
    fields: dict
    memory: dict

    @property
    def gpu_count(self):
        return sum(len(g) for g in self.gpus.values())


def parse_job(line):
    f = fields(line)
    gpus, cpus, memory = {}, {}, {}
    for match in re.finditer(r"\sNodes=(\S+) CPU_IDs=(\S*) Mem=(\d*)\S* GRES=(\S*)", line):
        for name in expand_hosts(match.group(1)):
            cpus[name] = expand_indices(match.group(2))
            memory[name] = int(match.group(3) or 0)
            indices = gres_indices(match.group(4))
            if indices:
                gpus[name] = indices
    listed = f.get("NodeList", "")
    nodes = [] if listed in ("", "(null)") else expand_hosts(listed)
    return Job(int(f["JobId"]), f["JobState"], f.get("Reason", ""), nodes, gpus, cpus, f, memory)


@dataclasses.dataclass
class Node:
    name: str
    state: set  # {"IDLE", "DRAIN"}
    gpus_used: list  # indices; slurmctld prints none for GPUs that have neither Cores= nor Links= nor a type
    gpu_count_used: int
    fields: dict


def parse_node(line):
    f = fields(line)
    used = f.get("GresUsed", "")
    counts = re.findall(r"gpu(?::[^:(),]+|:\(null\))?:(\d+)", used)
    return Node(f["NodeName"], set(re.split(r"[+*]", f["State"])) - {""}, gres_indices(used), sum(map(int, counts)), f)
