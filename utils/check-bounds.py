#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares bounds on time with the exact optimum of random machines.

    utils/check-bounds.py [--sccl=build/bin/sccl] [--cases=100] [--seed=1]

Machines of 3 to 6 GPUs and up to two switches, with odd rates in both directions and no
latency; some lose a GPU, a link or a part of it, some collectives are of a group, some
bandwidths may be rounded (--tolerance). Prints a line for each plan that is not right: a
bound above the optimum, or a time below it. The optimum is that at the machine's rates:

  - of gathers, broadcasts and their reverses, the largest cut: trees, and flows where one
    rank has or gets all, reach it where each switch gets as much as it may send;
  - of all_to_all, a linear program of flows;
  - of all_reduce, a linear program of trees that gather and trees that spread, which is no
    less than the optimum.

Linear programs are solved by libClp, which sccl needs as well.
"""

import argparse
import collections
import ctypes
import ctypes.util
import json
import os
import random
import subprocess
import sys
import tempfile

COLLECTIVES = ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce",
               "all_to_all", "scatter", "gather"]
BYTES = 64 << 20
SLACK = 1e-6  # relative, for numbers that are printed


class Program:
    """min or max of a linear function of variables that are not negative."""

    def __init__(self, columns):
        self.columns, self.rows = columns, []

    def at_most(self, terms, most):
        self.rows.append((terms, -1e30, most))

    def equals(self, terms, value):
        self.rows.append((terms, value, value))

    def solve(self, objective, maximize):
        clp, doubles = CLP, lambda values: (ctypes.c_double * len(values))(*values)
        by_column = [[] for _ in range(self.columns)]
        for row, (terms, _, _) in enumerate(self.rows):
            for column, value in terms.items():
                by_column[column].append((row, value))
        starts = [0]
        for entries in by_column:
            starts.append(starts[-1] + len(entries))
        entries = [entry for column in by_column for entry in column]
        model = ctypes.c_void_p(clp.Clp_newModel())
        try:
            clp.Clp_setLogLevel(model, 0)
            clp.Clp_setOptimizationDirection(model, ctypes.c_double(-1 if maximize else 1))
            clp.Clp_loadProblem(
                model, self.columns, len(self.rows),
                (ctypes.c_int * len(starts))(*starts),
                (ctypes.c_int * len(entries))(*[row for row, _ in entries]),
                doubles([value for _, value in entries]),
                doubles([0.0] * self.columns), doubles([1e30] * self.columns),
                doubles([objective.get(column, 0.0) for column in range(self.columns)]),
                doubles([row[1] for row in self.rows]),
                doubles([row[2] for row in self.rows]))
            clp.Clp_dual(model, 0)
            assert clp.Clp_status(model) == 0
            return clp.Clp_objectiveValue(model)
        finally:
            clp.Clp_deleteModel(model)


def load_clp():
    clp = ctypes.CDLL(ctypes.util.find_library("Clp") or "libClp.so.1")
    clp.Clp_newModel.restype = ctypes.c_void_p
    clp.Clp_objectiveValue.restype = ctypes.c_double
    return clp


class Machine:
    """GPUs are the first vertices. Rates are bytes per microsecond, in each direction."""
    kind = "cable"  # NVLink and xGMI have blocks and a launch, but not without copies

    def __init__(self, gpus, switches, rates):
        self.gpus, self.switches, self.rates = gpus, switches, dict(rates)

    def vertices(self):
        return list(range(self.gpus + self.switches))

    def name(self, vertex):
        return f"g{vertex}" if vertex < self.gpus else f"s{vertex - self.gpus}"

    def text(self):
        lines = ["coll.machine @random {"]
        for vertex in self.vertices():
            kind = "gpu" if vertex < self.gpus else "switch"
            lines.append(f'  coll.vertex {kind} "{self.name(vertex)}" box = 0')
        for (a, b), rate in sorted(self.rates.items()):
            lines.append(f'  coll.edge "{self.name(a)}" -> "{self.name(b)}" both_ways '
                         f'bandwidth = "{rate}" from "chance" latency = "0" '
                         f'from "chance" kind = "{self.kind}"')
        return "\n".join(lines + ["}"]) + "\n"

    def links(self):
        """Directed: (a, b) to rate."""
        both = {}
        for (a, b), rate in self.rates.items():
            both[a, b] = both[b, a] = rate * 1e3
        return both

    def without(self, gpu):
        def moved(vertex):
            return vertex - (vertex > gpu)
        rates = {(moved(a), moved(b)): rate for (a, b), rate in self.rates.items()
                 if gpu not in (a, b)}
        return Machine(self.gpus - 1, self.switches, rates)

    def cuts(self):
        """Sets of vertices, with what leaves them."""
        links, count = self.links(), len(self.vertices())
        for mask in range(1, (1 << count) - 1):
            inside = {vertex for vertex in range(count) if mask >> vertex & 1}
            yield inside, sum(rate for (a, b), rate in links.items()
                              if a in inside and b not in inside)


def random_machine(rng):
    gpus, switches = rng.randrange(3, 7), rng.choice([0, 0, 1, 2])
    def rate():
        return rng.choice([round(rng.uniform(5, 60), 3), 25, 50, 27.501, 12.5])
    rates = {}
    for switch in range(gpus, gpus + switches):
        for gpu in range(gpus):
            if rng.random() < 0.7:
                rates[gpu, switch] = rate()
    for gpu in range(gpus):
        if rng.random() < (0.9 if switches == 0 else 0.3):
            a, b = sorted([gpu, (gpu + 1) % gpus])
            rates[a, b] = rate()
    for _ in range(rng.randrange(0, gpus)):
        a, b = sorted(rng.sample(range(gpus), 2))
        rates[a, b] = rate()
    return Machine(gpus, switches, rates)


def largest_cut(machine, group, collective):
    """Microseconds for BYTES in a send buffer. Rates are the same both ways, so that a
    collective takes as long as its reverse."""
    worst, root = 0.0, group[0]
    for inside, rate in machine.cuts():
        missing = [rank for rank in group if rank not in inside]
        if not missing:
            continue
        have = len(group) - len(missing)
        parts = {"all_gather": have, "reduce_scatter": have / len(group),
                 "broadcast": root in inside, "reduce": root in inside,
                 "scatter": (root in inside) * len(missing) / len(group),
                 "gather": (root in inside) * len(missing)}[collective]
        if parts:
            if rate == 0:
                return None
            worst = max(worst, parts * BYTES / rate)
    return worst


def all_to_all(machine, group):
    links = list(machine.links().items())
    column = {(source, link): number for number, (source, link) in enumerate(
        (source, link) for source in group for link, _ in links)}
    program, time = Program(len(column) + 1), len(column)
    part = BYTES / len(group)
    for source in group:
        for vertex in machine.vertices():
            if vertex == source:
                continue
            terms = collections.defaultdict(float)
            for (a, b), _ in links:
                if b == vertex:
                    terms[column[source, (a, b)]] += 1
                if a == vertex:
                    terms[column[source, (a, b)]] -= 1
            program.equals(terms, part if vertex in group else 0)
    for link, rate in links:
        terms = {column[source, link]: 1.0 for source in group}
        program.at_most({**terms, time: -rate}, 0)
    return program.solve({time: 1.0}, maximize=False)


def all_reduce(machine, group):
    """Trees that spread get a part of each link, trees that gather the same part of the
    link back; both have as much in each root. Others pass on as much as they get."""
    links = machine.links()
    column = {link: number for number, link in enumerate(links)}
    roots = {rank: len(links) + number for number, rank in enumerate(group)}
    program = Program(len(links) + len(group))
    for (a, b), rate in links.items():
        program.at_most({column[a, b]: 1.0, column[b, a]: 1.0}, rate)
    for vertex in set(machine.vertices()) - set(group):
        terms = collections.defaultdict(float)
        for a, b in links:
            if vertex in (a, b):
                terms[column[a, b]] += 1 if b == vertex else -1
        program.equals(terms, 0)
    for inside, _ in machine.cuts():
        if not all(rank in inside for rank in group):
            terms = {roots[rank]: 1.0 for rank in group if rank in inside}
            for a, b in links:
                if a in inside and b not in inside:
                    terms[column[a, b]] = -1.0
            program.at_most(terms, 0)
    return BYTES / program.solve({roots[rank]: 1.0 for rank in group}, maximize=True)


def optimum(machine, group, collective):
    if largest_cut(machine, group, "all_gather") is None:
        return None
    if collective == "all_to_all":
        return all_to_all(machine, group)
    if collective == "all_reduce":
        return all_reduce(machine, group)
    return largest_cut(machine, group, collective)


def lose(rng, machine):
    """Options that say what is lost, and the machine that is left."""
    kind, direct = rng.random(), [edge for edge in machine.rates if edge[1] < machine.gpus]
    if kind < 0.15 and machine.gpus > 3:
        gpu = rng.randrange(machine.gpus)
        return [f"--without=gpu:{gpu}"], machine.without(gpu)
    if kind < 0.45 and direct:
        a, b = rng.choice(direct)
        rates = dict(machine.rates)
        if kind < 0.3:
            del rates[a, b]
            return [f"--without=link:{a}-{b}"], Machine(machine.gpus, machine.switches, rates)
        rates[a, b] *= 0.37
        return ([f"--degrade=link:{a}-{b}=0.37"],
                Machine(machine.gpus, machine.switches, rates))
    return [], machine


def try_case(args, seed, folder):
    """What was tried, "skipped" if there is no such collective, and what is wrong."""
    rng = random.Random(seed)
    Machine.kind = ["cable", "NVLink4", "xGMI3"][seed % 3]
    machine = random_machine(rng)
    collective = rng.choice(COLLECTIVES)
    options, left = lose(rng, machine)
    group = list(range(left.gpus))
    if rng.random() < 0.3:
        group = sorted(rng.sample(group, rng.randrange(2, left.gpus + 1)))
        options.append("--group=" + ",".join(map(str, group)))
    if rng.random() < 0.5:
        options.append(f"--tolerance={rng.choice([0.01, 0.05, 0.2])}")
    best = optimum(left, group, collective)
    if best is None:
        return collective, "skipped", ""
    path = os.path.join(folder, "machine.mlir")
    with open(path, "w") as file:
        file.write(machine.text())
    command = [args.sccl, "plan", f"--machine={path}", f"--collective={collective}",
               f"--from={BYTES}", f"--to={BYTES}", "--copy-bandwidth=0", "--json",
               *options]
    done = subprocess.run(command + ["--max-steps=2"], capture_output=True, text=True)
    if "no schedule was found" in done.stderr:  # of so few steps
        done = subprocess.run(command, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [row for row in rows if "bound_microseconds" in row]
    if not rows and "no route leads" in done.stderr:  # on the intact machine
        return collective, "skipped", ""
    if not rows:
        return collective, "failed", f"{' '.join(command)}: {done.stderr.strip()}"
    bound, time = rows[0]["bound_microseconds"], rows[0]["microseconds"]
    wrong = ""
    if bound > best * (1 + SLACK):
        wrong = f"bound {bound:.3f} above the optimum {best:.3f}"
    elif time < best * (1 - SLACK) and collective != "all_reduce":
        wrong = f"{time:.3f} us, less than the optimum {best:.3f}"
    reached = "reached" if bound > best * (1 - 1e-3) else "below"
    return collective, "wrong" if wrong else reached, (
        wrong and f"{' '.join(command)}: {wrong}\n{machine.text()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sccl", default="build/bin/sccl")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.cases):
            collective, end, text = try_case(args, seed, folder)
            counts[collective, end] += 1
            if text:
                print(f"seed {seed}: {text}", flush=True)
    for collective in COLLECTIVES:
        ends = {end: count for (name, end), count in sorted(counts.items())
                if name == collective}
        print(f"{collective}: " + ", ".join(f"{n} {end}" for end, n in ends.items()))
    bad = sum(n for (_, end), n in counts.items() if end in ("wrong", "failed"))
    print(f"{args.cases} machines, {bad} wrong")
    return 1 if bad else 0


CLP = load_clp()
if __name__ == "__main__":
    sys.exit(main())
