#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether times and answers depend on the numbers of ranks and the order of links.

    utils/numberings.py [--sccl=build/bin/sccl] [--count=30] [--only=REGEX] [-o FILE]

Each question is asked of `count` seeded numberings of a machine: of a topology, ranks, links and
limits; of a machine, GPUs of a box, and edges. Roots and groups follow. Prints a row for each question:
the least, median and worst user seconds, and how many different answers there were, as costs by
steps or sizes, and as C, S and R.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import tempfile

from makers import COLLECTIVES, ask, irregular, topology_text

# Machine (with what is broken), collectives, and further options.
QUESTIONS = [("pareto dgx1", kind, "") for kind in COLLECTIVES] + [
    ("pareto dgx1", "all_gather", "--group=0,1,2"), ("pareto dgx1", "all_reduce", "--group=0,5/2,6"),
    ("pareto dgx1-v100 --without=link:0-1", "all_reduce", ""),
    ("pareto dgx1-v100 --without=link:0-3", "all_gather", ""),
] + [("plan dgx1-v100", kind, "") for kind in ("all_gather", "all_reduce", "broadcast", "all_to_all")] + [
    ("plan dgx1-v100 --without=link:4-7", "all_gather", ""),
] + [(f"pareto {machine}", kind, f"--max-steps={steps}") for machine, steps in (
    ("amd_z52", 8), ("ndv2", 5), ("hypercube:3", 5), ("torus:4x4", 5), ("irregular", 5))
     for kind in ("all_gather", "all_reduce", "broadcast", "all_to_all", "gather")]


def machine_text(sccl, words):
    """The text of a machine or topology, without remarks."""
    if words == ["irregular"]:
        return topology_text("irregular", *irregular(random.Random(34), 9))
    text = subprocess.run([sccl, "machine", *words], capture_output=True, text=True, check=True).stdout
    return re.sub(r"^//.*\n", "", text, flags=re.MULTILINE)


def shuffled_sets(rng, lines, keys):
    """The lines, of which those with the same key, if they have one, change places at random."""
    result = list(lines)
    for key in sorted({key for key in keys if key is not None}):
        places = [place for place, other in enumerate(keys) if other == key]
        for place, source in zip(places, rng.sample(places, len(places))):
            result[place] = lines[source]
    return result


def renumbered(rng, text):
    """The text with other numbers, and the new number of each rank."""
    lines = text.splitlines()
    ranks = re.search(r"coll.topology .* ranks = (\d+)", text)
    if ranks:
        order = rng.sample(range(int(ranks[1])), int(ranks[1]))
        lines = [re.sub(r"(\d+) -> (\d+)", lambda ends: f"{order[int(ends[1])]} -> {order[int(ends[2])]}", line)
                 for line in lines]
        return "\n".join(shuffled_sets(rng, lines, [
            (re.match(r"\s*coll\.(link|limit)", line) or [None])[0] for line in lines])) + "\n", order
    gpu = re.compile(r'\s*coll\.vertex gpu "([^"]*)".*?box = (\d+)')
    before = [found[1] for found in map(gpu.match, lines) if found]
    keys = [found and f"gpu {found[2]}" for found in map(gpu.match, lines)]
    edges = [(re.match(r"\s*coll\.edge", line) or [None])[0] for line in lines]
    lines = shuffled_sets(rng, shuffled_sets(rng, lines, keys), edges)
    after = [found[1] for found in map(gpu.match, lines) if found]
    return "\n".join(lines) + "\n", [after.index(name) for name in before]


def options_of(collective, more, order):
    """The options, with the root and the groups where their ranks are now."""
    options = [f"--collective={collective}"]
    if collective in ("broadcast", "reduce", "gather", "scatter") and "--group" not in more:
        options.append(f"--root={order[0]}")
    for word in more.split():
        if word.startswith("--group="):
            word = re.sub(r"\d+", lambda rank: str(order[int(rank[0])]), word)
        options.append(word)
    return options


def measure(sccl, folder, question, count, limit):
    """The answers of all numberings."""
    start, collective, more = question
    command, *words = start.split()
    text, answers = machine_text(sccl, words), []
    for seed in range(count):
        other, order = renumbered(random.Random(seed), text) if seed else (text, list(range(1000)))
        path = os.path.join(folder, f"{seed}.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(other)
        answers.append(ask(sccl, [command, f"--machine={path}", *options_of(collective, more, order)],
                           limit=limit))
    return answers


def answer_of(answer):
    """Status and costs; of a plan those at sizes that are always there, and not where its choice switches."""
    sizes = {str(4 ** power) for power in range(5, 16)}
    costs = {key: f"{cost:.6g}" for key, cost in answer["costs"].items()
             if key in sizes or not answer["question"].startswith("plan")}
    return [answer["status"], sorted(costs.items())]


def row_of(question, answers):
    seconds = sorted(answer["seconds"] for answer in answers)
    middle = statistics.median(seconds)
    costs, points = [len({json.dumps(key(answer)) for answer in answers}) for key in (
        answer_of, lambda answer: sorted(point[:3] for point in answer["points"]))]
    return (f"| `{' '.join(filter(None, question))}` | {seconds[0]:.2f} | {middle:.2f} | {seconds[-1]:.2f} | "
            f"{seconds[-1] / max(middle, 0.001):.1f} | {costs} | {points} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sccl", default="build/bin/sccl")
    parser.add_argument("--count", type=int, default=30, help="numberings, the given one first")
    parser.add_argument("--limit", type=int, default=120, help="seconds for one answer")
    parser.add_argument("--only", default="", help="questions that match")
    parser.add_argument("-o", metavar="FILE", help="where the answers go")
    args = parser.parse_args()
    kept = {}
    print("| question | least s | median s | worst s | worst / median | costs | C, S, R |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for question in QUESTIONS:
            if re.search(args.only, " ".join(question)):
                kept[" ".join(question)] = measure(args.sccl, folder, question, args.count, args.limit)
                print(row_of(question, kept[" ".join(question)]), flush=True)
    if args.o:
        with open(args.o, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)


if __name__ == "__main__":
    main()
