#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each maker of schedules buys: a fixed set of questions, with and without it.

    utils/makers.py [--sccl=build/bin/sccl] [-o FILE]     answers and times, as JSON
    utils/makers.py --compare BEFORE.json AFTER.json      what changed
    utils/makers.py --table FOLDER                        docs/Makers.md: each maker left out
    utils/makers.py --constants FOLDER                    the same: each constant halved, doubled

A question is a call of `sccl pareto`, `synth` or `plan`. Half of them are of machines that
people know, the other half of machines and collectives that a seeded generator draws. A gap
is that of the cost to the lower bound, averaged over the steps or sizes of a question; the
bound is that of the first run. Times are user CPU seconds; a question that takes more than
two minutes has no answer.
"""

import argparse
import glob
import json
import os
import random
import re
import resource
import subprocess
import tempfile
from fractions import Fraction

COLLECTIVES = ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "gather",
               "scatter", "all_to_all"]
# What counts as missing where another run has an answer: twice the bound.
MISSING = 2.0


# Frontiers to S = 5.
FRONTIERS = """
ring:8 all_reduce, ring:5 all_reduce, mesh:8 all_reduce, line:5 reduce, torus:4x4 all_gather,
torus:8x8 all_gather, torus:4x4 all_to_all, torus:3x3x3 all_gather, torus:8x16 all_to_all,
hypercube:4 all_gather, hypercube:5 all_reduce, switch:6,2 all_gather, switch:5,3 all_to_all,
trn2-ultra broadcast, gb200-nvl72 all_reduce, h100:boxes=2 all_gather, h100:boxes=2 all_reduce,
ndv2 all_gather, z52-mi50 all_to_all, mi200-cube broadcast, torus:16x16 all_reduce"""
# Of the paper's machines, the catalogue, boxes, broken machines and groups.
KNOWN = """
synth dgx1 all_reduce --chunks=48 --steps=6 --rounds=14
synth dgx1 all_reduce --chunks=16 --steps=4 --rounds=6
synth dgx1 all_to_all --chunks=24 --steps=8 --rounds=8
synth dgx1 broadcast --chunks=18 --steps=5 --rounds=5
synth dgx1 gather --chunks=6 --steps=3 --rounds=7
synth dgx1 all_gather --chunks=7 --steps=3 --rounds=8
synth amd_z52 all_reduce --chunks=16 --steps=8 --rounds=14
synth ring:5 all_reduce --chunks=1 --steps=2 --rounds=2
pareto dgx1 all_gather --group=0-3/4-7 --max-steps=4
pareto torus:4x4 all_reduce --group=blocks:4 --max-steps=3
pareto h100:boxes=2 all_to_all --group=strides:8 --max-steps=3
pareto dgx1 all_gatherv --chunks=1,2,1,1,3,1,1,1 --max-steps=4
plan dgx1-v100 all_reduce
plan dgx1-v100 all_gather --without=link:4-7
plan dgx1-v100 all_reduce --without=link:0-1
plan z52-mi50 broadcast
plan h100:boxes=2 all_reduce
plan dgx1-v100:boxes=2 all_gather
plan mi300x:boxes=2 reduce_scatter
plan mi300a all_reduce
plan trn1 all_to_all
plan a100:boxes=4 broadcast
plan a100:boxes=2 reduce_scatter --without=nic:1:3
"""


def known_questions():
    rows = [f"pareto {machine} {collective}" for collective in COLLECTIVES
            for machine in ("dgx1", "amd_z52")] + KNOWN.strip().split("\n")
    rows[24:24] = [f"pareto {row} --max-steps=5" for row in re.split(r",\s+", FRONTIERS.strip())]
    for command, machine, collective, *more in map(str.split, rows):
        yield [command, f"--machine={machine}", f"--collective={collective}", *more]


def topology_text(name, ranks, links):
    lines = [f"coll.topology @{name} ranks = {ranks} {{"]
    lines += [f"  coll.link {src} -> {dst} bandwidth = {width}"
              for (src, dst), width in sorted(links.items())]
    return "\n".join(lines + ["}"]) + "\n"


def irregular(rng, ranks):
    """A cycle through all ranks, and more links at random."""
    order = rng.sample(range(ranks), ranks)
    pairs = list(zip(order, order[1:] + order[:1]))
    pairs += [tuple(rng.sample(range(ranks), 2)) for _ in range(rng.randrange(ranks + 1))]
    both = rng.random() < 0.7
    links = {}
    for src, dst in pairs:
        width = rng.choice([1, 1, 1, 2, 3])
        links[src, dst] = width
        if both:
            links[dst, src] = width
    return ranks, links


def circulant(rng, ranks):
    """Each rank is linked to those some places on, both ways."""
    hops = {1: rng.choice([1, 2]), rng.randrange(2, ranks // 2 + 1): 1}
    links = {}
    for rank in range(ranks):
        for hop, width in hops.items():
            links[rank, (rank + hop) % ranks] = width
            links[(rank + hop) % ranks, rank] = width
    return ranks, links


def boxes(rng, count, size):
    """Boxes whose ranks are all joined, and slow links of some ranks between them."""
    links = {}
    for box in range(count):
        for a in range(size):
            for b in range(size):
                if a != b:
                    links[box * size + a, box * size + b] = 4
    places = rng.sample(range(size), rng.randrange(1, size + 1))
    for one in range(count):
        for other in range(count):
            for place in places:
                if one != other:
                    links[one * size + place, other * size + place] = 1
    return count * size, links


def broken(rng, width, height):
    """A torus that has lost two links."""
    links = {}
    for x in range(width):
        for y in range(height):
            for to in (((x + 1) % width, y), (x, (y + 1) % height)):
                a, b = x * height + y, to[0] * height + to[1]
                links[a, b] = links[b, a] = 1
    for src, dst in rng.sample(sorted(pair for pair in links if pair[0] < pair[1]), 2):
        del links[src, dst], links[dst, src]
    return width * height, links


def random_questions(folder, seed=34, count=72):
    rng = random.Random(seed)
    for number in range(count):
        kind = number % 4
        if kind == 0:
            ranks, links = irregular(rng, rng.randrange(5, 11))
        elif kind == 1:
            ranks, links = circulant(rng, rng.randrange(6, 15))
        elif kind == 2:
            ranks, links = boxes(rng, rng.randrange(2, 4), rng.randrange(2, 5))
        else:
            ranks, links = broken(rng, rng.randrange(3, 5), 3)
        name = f"random_{number}"
        path = os.path.join(folder, f"{name}.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(topology_text(name, ranks, links))
        command = rng.choice(["pareto", "pareto", "pareto", "plan", "synth"])
        question = [command, f"--machine={path}", f"--collective={rng.choice(COLLECTIVES)}"]
        if command == "pareto":
            question.append(f"--max-steps={rng.randrange(2, 5) if ranks > 8 else rng.randrange(3, 6)}")
            if rng.random() < 0.15:
                question.append("--group=" + ",".join(
                    map(str, sorted(rng.sample(range(ranks), ranks // 2 + 1)))))
        elif command == "synth":
            steps = rng.randrange(2, 7)
            chunks = rng.randrange(1, 4)
            if "all_to_all" in question[2] or "scatter" in question[2]:
                chunks *= ranks
            question += [f"--steps={steps}", f"--rounds={steps + rng.randrange(8)}",
                         f"--chunks={chunks}"]
        yield question


def ask(sccl, question, without="", constant="", limit=120):
    """The answer to a question: costs by steps or size, bounds likewise, status and time."""
    environment = dict(os.environ, SCCL_WITHOUT_MAKER=without, SCCL_CONSTANT=constant)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run([sccl, *question, "--json"], capture_output=True, text=True, env=environment,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    costs, bounds, points, status = {}, {}, [], str(run.returncode)
    for line in map(json.loads, filter(lambda text: text.startswith("{"), run.stdout.splitlines())):
        if "microseconds" in line:
            costs[str(line["bytes"])] = line["microseconds"]
            bounds[str(line["bytes"])] = line["bound_microseconds"]
        elif "cost" in line and "steps" in line:
            steps = str(line["steps"])
            points.append([line["chunks"], line["steps"], line["rounds"], line["engine"]])
            costs[steps] = min(costs.get(steps, float("inf")), float(Fraction(line["cost"])))
            if line.get("lower_bound"):
                bounds[steps] = float(Fraction(line["lower_bound"]))
        elif "status" in line:
            status = line["status"]
            points.append([line["chunks"], line["steps"], line["rounds"], line["engine"]])
    return {"question": " ".join(question), "status": status, "seconds": round(seconds, 3),
            "costs": costs, "bounds": bounds, "points": points,
            "read": re.findall("^constant: (.*)$", run.stderr, re.MULTILINE)}


def list_makers():
    """Of each maker: its name, stage, the collectives that it has a part in, and how it works."""
    with open(os.path.join(os.path.dirname(__file__), "../include/sccl/Solver/Makers.def"),
              encoding="utf-8") as file:
        return re.findall(r'^SCCL_MAKER\((\w+), "(\w+)", "([^"]*)",\s*"([^"]*)"\)', file.read(),
                          re.MULTILINE)


def concerns(question, maker):
    """False if `maker` has no part in the answer to the question."""
    _, stage, collectives, _ = maker
    command, kind = question[0], question[2].removeprefix("--collective=")
    commands = {"engine": ["pareto", "synth", "plan"], "frontier": ["pareto", "plan"], "plan": ["plan"]}
    return command in commands[stage] and (collectives == "*" or kind in collectives.split(", "))


def each_question():
    """Each question, as a command, by what it is called, and whether it was drawn."""
    with tempfile.TemporaryDirectory() as folder:
        known = list(known_questions())
        for number, question in enumerate(known + list(random_questions(folder))):
            yield question, " ".join(question).replace(folder + "/", ""), number >= len(known)


def run_all(sccl, without="", constant="", limits=None):
    """Answers to all questions, or to those of `limits`, each in as many seconds."""
    maker = next((maker for maker in list_makers() if maker[0] == without), None)
    answers = []
    for question, name, drawn in each_question():
        if (maker and not concerns(question, maker)) or (limits is not None and name not in limits):
            continue
        answer = ask(sccl, question, without, constant, limits[name] if limits else 120)
        answers.append(dict(answer, question=name, drawn=drawn))
    return answers


def cost_at(answer, key):
    """The cost at a size, or the least of at most so many steps."""
    costs = answer["costs"]
    if answer["question"].startswith("plan"):
        return costs.get(key)
    return min((cost for steps, cost in costs.items() if int(steps) <= int(key)), default=None)


def gap_of(answer, first):
    """The mean over steps or sizes of cost over bound, where `first` has one, less 1."""
    keys = sorted(set(first["costs"]) & set(first["bounds"]), key=int)
    keys = [key for key in keys if first["bounds"][key] > 0]
    if answer["question"].startswith("plan"):
        # Sizes where the choice switches differ; those asked for, 1 KiB to 1 GiB in steps of
        # four, are always there.
        keys = [key for key in keys if int(key) in {4 ** power for power in range(5, 16)}]
    if not keys:
        return float(answer["status"] in ("unknown", "failed"))
    costs = [cost_at(answer, key) for key in keys]
    return sum((cost / first["bounds"][key] if cost else MISSING) - 1
               for key, cost in zip(keys, costs)) / len(keys)


def compare(before, after):
    """By half: questions worse and better in gap by 1 %, mean gaps, seconds; and which."""
    halves, changes = {}, []
    empty = {"worse": 0, "better": 0, "gap": 0.0, "change": 0.0, "before": 0.0, "seconds": 0.0,
             "count": 0, "asked": 0}
    answers = {answer["question"]: answer for answer in after}
    for first in before:
        second = answers.get(first["question"], first)
        half = halves.setdefault(first["drawn"], dict(empty))
        half["asked"] += first["question"] in answers
        old, new = gap_of(first, first), gap_of(second, first)
        half["count"] += 1
        half["gap"] += old
        half["change"] += new - old
        half["before"] += first["seconds"]
        half["seconds"] += second["seconds"]
        half["worse"] += new > old + 0.01
        half["better"] += new < old - 0.01
        if abs(new - old) > 0.01 or first["status"] != second["status"]:
            changes.append((new - old, first, second))
    return halves, sorted(changes, key=lambda change: -change[0])


def print_comparison(before, after):
    halves, changes = compare(before, after)
    for change, first, second in changes:
        print(f"{100 * change:+7.1f} %  {first['question']}: {first['status']} -> {second['status']}, "
              f"{first['seconds']:.2f} -> {second['seconds']:.2f} s")
    for drawn, half in sorted(halves.items()):
        print("random:" if drawn else "known:", cells_of(half))


def cells_of(half):
    """Questions that are worse, mean gap, and seconds, as cells of a table."""
    return (f"{half['worse']} of {half['asked']} | {100 * half['change'] / half['count']:+.2f} | "
            f"{100 * (half['seconds'] / half['before'] - 1):+.0f} %")


def kept(folder, name, answer):
    """What `folder` holds by that name, or else `answer()`, which it holds then."""
    path = os.path.join(folder, f"{name}.json")
    if not os.path.exists(path):
        answers = answer()
        with open(path, "w", encoding="utf-8") as file:
            json.dump(answers, file, indent=1)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_table(sccl, folder):
    """Asks with and without each maker what `folder` does not hold yet, and prints the table."""
    before = kept(folder, "all", lambda: run_all(sccl))
    print("| without | asked for | how it works | known: worse | gap | time | random: worse | gap | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, stage, collectives, how in list_makers():
        halves, _ = compare(before, kept(folder, name, lambda: run_all(sccl, name)))
        kinds = "all" if collectives == "*" else collectives
        print(f"| {name} | {stage}: {kinds} | {how} | {cells_of(halves[False])} | {cells_of(halves[True])} |")


def list_constants():
    """Of each constant: its stage, name, value and what it is."""
    for path in sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../lib/*/Constants.h"))):
        with open(path, encoding="utf-8") as file:
            for name, value, about in re.findall(
                    r'^SCCL_CONSTANT\(\s*\w+, (\w+), ([^,]*),\s*"([^"]*)"\)', file.read(), re.MULTILINE):
                number = eval(re.sub(r"\w+_t|'|(?<=\d)u", "", value), {"__builtins__": {}})
                yield os.path.basename(os.path.dirname(path)), name, number, about


def scaled(value, factor):
    """`value` times the factor; of what is near one, as ratios are, the distance from that."""
    if value != int(value) and 0.9 < value < 1.5:
        return 1 + (value - 1) * factor
    return value * factor if value != int(value) else int(value * factor)


def write_constants(sccl, folder, seconds):
    """Halves and doubles each constant, asks those questions that read it and take less than
    `seconds` otherwise, and prints the table: questions worse, the largest change of a gap, time."""
    first = kept(folder, "read", lambda: run_all(sccl, constant="?"))
    usual = {answer["question"]: answer for answer in kept(
        folder, "usual", lambda: run_all(sccl, limits={
            answer["question"]: 60 for answer in first if answer["seconds"] < seconds}))}
    print("| stage | constant | value | what | read by | halved: worse | gap | time "
          "| doubled: worse | gap | time |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for stage, name, value, about in list_constants():
        reads = [answer["question"] for answer in first if name in answer["read"]]
        limits = {question: int(2 + 4 * usual[question]["seconds"])
                  for question in reads if question in usual}
        cells = []
        for factor in (0.5, 2):
            other = scaled(value, factor)
            after = kept(folder, f"{name}-{other}", lambda: run_all(
                sccl, constant=f"{name}={other}", limits=limits)) if limits else []
            before = [usual[answer["question"]] for answer in after]
            changes = [gap_of(new, old) - gap_of(old, old) for old, new in zip(before, after)]
            seconds = [sum(answer["seconds"] for answer in answers) for answers in (before, after)]
            cells.append(f"{sum(each > 0.01 for each in changes)} of {len(after)} | "
                         f"{100 * max(changes, key=abs):+.1f} | {100 * (seconds[1] / seconds[0] - 1):+.0f} %"
                         if after else "| | ")
        print(f"| {stage} | {name} | {value:g} | {about} | {len(reads)} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sccl", default="build/bin/sccl")
    parser.add_argument("--table", metavar="FOLDER", help="where answers are kept")
    parser.add_argument("--constants", metavar="FOLDER", help="likewise")
    parser.add_argument("--seconds", type=float, default=1, help="of the longest question, for constants")
    parser.add_argument("-o", metavar="FILE", help="where the answers go")
    parser.add_argument("--compare", nargs=2, metavar="FILE")
    args = parser.parse_args()
    if args.compare:
        print_comparison(*[json.load(open(name, encoding="utf-8")) for name in args.compare])
    elif args.table:
        write_table(args.sccl, args.table)
    elif args.constants:
        write_constants(args.sccl, args.constants, args.seconds)
    else:
        answers = run_all(args.sccl)
        print(f"{len(answers)} questions, {sum(each['seconds'] for each in answers):.1f} s")
        if args.o:
            with open(args.o, "w", encoding="utf-8") as file:
                json.dump(answers, file, indent=1)


if __name__ == "__main__":
    main()
