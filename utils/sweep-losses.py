#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans for machines that have lost something at random.

    utils/sweep-losses.py [--sccl=build/bin/sccl] [--cases=30] [--seed=1] [--limit=120]

Machines of the catalogue and random ones lose links, GPUs and NICs, or a part of their
bandwidth. One line for each: CPU seconds and, by size, the gap between plan and bound in
per cent and what is lost against the intact machine. Exit code 1 if a plan is missing, lacks
one of these, took longer than the limit, or if `sccl plan` ended in any other way than with a
plan or the message that no route leads from one rank to another.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile

COLLECTIVES = ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce",
               "all_to_all", "scatter", "gather"]
# By name: boxes, GPUs and NICs of a box.
CATALOGUE = {
    "dgx1-v100": (1, 8, 0), "z52-mi50": (1, 8, 0), "z52-mi50-ring": (1, 8, 0),
    "mi200-cube": (1, 8, 0), "mi300x": (1, 8, 0), "mi300a": (1, 4, 0), "trn1": (1, 16, 0),
    "mi250:half": (1, 8, 0), "h100:boxes=2,rails": (2, 8, 8), "a100:boxes=2": (2, 8, 8),
    "h800:boxes=2": (2, 8, 4), "b200:boxes=3,rails": (3, 8, 8), "h100:boxes=4,rails": (4, 8, 8),
    "mi300x:boxes=2": (2, 8, 8), "ndv2:boxes=2": (2, 8, 1), "tpu-v5p:2x2x4": (1, 16, 0),
}


def random_machine(rng):
    """A machine as text, and its links as pairs of ranks: a cycle, so that it stays joined
    when it loses a link, and some chords."""
    ranks = rng.randrange(3, 11)
    links = {(rank, (rank + 1) % ranks) for rank in range(ranks)}
    for _ in range(rng.randrange(0, 2 * ranks)):
        a, b = rng.sample(range(ranks), 2)
        if (b, a) not in links:
            links.add((a, b))
    lines = ["coll.machine @random {"]
    lines += [f'  coll.vertex gpu "gpu{rank}" box = 0' for rank in range(ranks)]
    for a, b in sorted(links):
        rate, latency = rng.choice([12.5, 25, 50, 100]), rng.choice([0.4, 1, 2.5])
        lines.append(f'  coll.edge "gpu{a}" -> "gpu{b}" both_ways bandwidth = "{rate}" '
                     f'from "chance" latency = "{latency}" from "chance" kind = "cable"')
    return "\n".join(lines + ["}"]) + "\n", sorted(links)


def links_of(sccl, machine):
    """Pairs of GPUs that an edge joins."""
    text = subprocess.run([sccl, "machine", machine], capture_output=True, text=True).stdout
    table = [line[2:].split() for line in text.splitlines() if line.startswith("//")]
    rows = [line for line in table if len(line) > 2 and line[0].startswith("gpu")
            and not line[1].startswith("gpu")]
    return [(a, b) for a, row in enumerate(rows) for b, rate in enumerate(row[1:])
            if b > a and rate not in ".-" and not rate.startswith("-")]


def random_item(rng, links, boxes, gpus, nics):
    kinds = ["gpu"] + (["link"] * 3 if links else []) + (["nic"] * 3 if nics and boxes > 1 else [])
    kind = rng.choice(kinds)
    if kind == "link":
        return "link:%d-%d" % rng.choice(links)
    if kind == "nic":
        return f"nic:{rng.randrange(boxes)}:{rng.randrange(nics)}"
    return f"gpu:{rng.randrange(boxes * gpus)}"


def random_case(rng, sccl, folder, number):
    """The options of one case."""
    if rng.random() < 0.4:
        text, links = random_machine(rng)
        machine = f"{folder}/random{number}.mlir"
        with open(machine, "w") as file:
            file.write(text)
        boxes, gpus, nics = 1, max(map(max, links)) + 1, 0
    else:
        machine = rng.choice(sorted(CATALOGUE))
        boxes, gpus, nics = CATALOGUE[machine]
        links = links_of(sccl, machine) if boxes == 1 else []
    lost = [random_item(rng, links, boxes, gpus, nics) for _ in range(rng.choice([1, 1, 1, 2]))]
    if rng.random() < 0.3:
        return machine, "--degrade=" + ",".join(
            f"{item}={rng.choice(['0.25', '0.5', '0.75'])}" for item in lost)
    return machine, "--without=" + ",".join(lost)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def shortcomings(rows, loses_ranks):
    """What the lines of a plan lack."""
    if not rows:
        return ["no plan"]
    wanted = ["gap", "bound_microseconds"]
    # With fewer ranks it is another collective.
    if not loses_ranks:
        wanted += ["intact_microseconds", "intact_bound_microseconds"]
    found = [f"no {key}" for key in wanted if any(row.get(key) is None for row in rows)]
    if any(row["microseconds"] < row["bound_microseconds"] * (1 - 1e-9) for row in rows):
        found.append("faster than its bound")
    return found


def look(sccl, machine, loss, collective, limit):
    """Prints a line; returns whether all is well."""
    before = cpu_seconds()
    command = [sccl, "plan", f"--machine={machine}", f"--collective={collective}", loss,
               "--json"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10 * limit)
    except subprocess.TimeoutExpired:
        print(f"NO END: {' '.join(command)}", flush=True)
        return False
    seconds = cpu_seconds() - before
    rows = [row for row in map(json.loads, run.stdout.splitlines()) if "bytes" in row]
    is_apart = run.returncode == 1 and not rows and "no route leads" in run.stderr
    wrong = [] if is_apart else shortcomings(rows, "gpu:" in loss and "without" in loss)
    if run.returncode not in (0, 1) or (run.returncode == 1 and not is_apart):
        wrong.append(f"exit code {run.returncode}: {run.stderr.strip()[-200:]}")
    if seconds > limit:
        wrong.append("slow")
    gaps = " ".join(f"{100 * row['gap']:.0f}" for row in rows if row.get("gap") is not None)
    losses = " ".join(f"{100 * (row['microseconds'] / row['intact_microseconds'] - 1):.0f}"
                      for row in rows if row.get("intact_microseconds"))
    print(f"{machine.split('/')[-1]:20} {collective:14} {loss:34} {seconds:6.1f} s  "
          f"gaps {gaps or '-'}  lost {losses or '-'}"
          f"{'  apart: ' + run.stderr.strip() if is_apart else ''}"
          f"{'  WRONG: ' + '; '.join(wrong) if wrong else ''}", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sccl", default="build/bin/sccl")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120, help="CPU seconds of each case")
    args = parser.parse_args()
    is_well = True
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.cases):
            rng = random.Random(f"{args.seed} {number}")
            machine, loss = random_case(rng, args.sccl, folder, number)
            collective = rng.choice(COLLECTIVES)
            is_well &= look(args.sccl, machine, loss, collective, args.limit)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
