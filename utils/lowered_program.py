# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernel-gates.py reads of a lowered program, as `sccl-opt -sccl-lower` prints it."""
import re


def read_program(text):
    """The releases of each channel of each rank of a lowered program: for each,
    the step that it comes after, or None. Signals that follow each other are one."""
    ranks, step, signals = {}, None, False
    for line in text.splitlines():
        word = re.match(r"\s*coll\.(\w+) ?(\d*)", line)
        if not word:
            continue
        name, number = word[1], word[2]
        if name == "rank":
            ranks[int(number)] = channels_of_rank = []
        elif name == "channel":
            channels_of_rank.append([])
            step, signals = None, False
        elif name == "signal":
            if not signals:
                channels_of_rank[-1].append(step)
            signals = True
        elif ranks:
            signals = False
            found = re.search(r" step = (\d+)", line)
            step = int(found[1]) if found else step
    return ranks


def numbers(text, key):
    found = re.search(rf"\b{key} = (?:\[([^\]]*)\]|([\d.e+-]+))", text)
    return [float(n) for n in (found[1] or found[2]).split(",")] if found else []


def read_limits(program):
    """The limits of the first topology, each with its links, GB/s, and the longest
    latency of a link; nothing if it says no rates."""
    timing = re.search(r"coll\.timing .*", program)
    if not timing or not re.search(r"blocks = \[", timing[0]):
        return []
    links, limits = [], []
    for op in re.finditer(r"coll\.(link|limit) (\[[^\]]*\]|\d+ -> \d+)(.*)", program):
        pairs = [tuple(map(int, p)) for p in re.findall(r"(\d+) -> (\d+)", op[2])]
        links += pairs if op[1] == "link" else []
        if "bandwidth" in op[3]:
            limits.append(pairs)
    rates, latencies = numbers(timing[0], "rates"), numbers(timing[0], "latencies")
    rates = rates * (len(limits) if len(rates) == 1 else 1)
    latencies = dict(zip(links, latencies * (len(links) if len(latencies) == 1 else 1)))
    load = numbers(timing[0], "blocks")[3]
    return [
        (limit, rate, load + max(latencies[link] for link in limit))
        for limit, rate in zip(limits, rates)
    ]


def channels_over(program):
    """How many blocks of a program send or get over each link."""
    blocks = re.search(r"coll\.program .* blocks = (\d+)", program)
    result, rank, spread = {}, 0, 1
    for line in program.splitlines():
        if found := re.match(r"\s*coll\.rank (\d+)", line):
            rank = int(found[1])
        elif found := re.match(r"\s*coll\.channel to (\d+)(?: spread = (\d+))?", line):
            peer, spread, seen = int(found[1]), int(found[2] or 1), False
        elif found := re.match(r"\s*coll\.(put|get|reduce)\b", line):
            link = (rank, peer) if found[1] == "put" else (peer, rank)
            if not seen:
                result[link] = result.get(link, 0) + spread * int(blocks[1] if blocks else 1)
            seen = True
    return result
