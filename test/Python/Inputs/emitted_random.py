# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random schedules of 2 to 8 ranks in DIR, has sccl convert make modules of them, runs
these on the torch in fake/, and compares the results with the definition of the collective.
Usage: emitted_random.py DIR FIRST LAST, with the first and the last seed.
"""
import pathlib
import random
import subprocess
import sys

import torch
import torch.distributed as dist
from emitted_fake import load, run

SUMS = ["all_reduce", "reduce", "reduce_scatter"]
ROOTED = ["broadcast", "gather", "reduce", "scatter"]
KINDS = SUMS + ["all_gather", "all_to_all", "broadcast", "gather", "scatter"]


class Case:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.kind, self.ranks = self.dice.choice(KINDS), self.dice.randint(2, 8)
        self.root = self.dice.randrange(self.ranks) if self.kind in ROOTED else 0
        self.part = self.dice.randint(1, 3)  # chunks of a segment
        is_cut = self.kind in ("all_to_all", "scatter", "reduce_scatter")
        self.chunks = self.part * (self.ranks if is_cut else 1)

    def ends(self):
        """By chunk, where it is at first, or its sum is made, and the ranks that want it."""
        everyone, count = range(self.ranks), range(self.chunks)
        if self.kind in ("all_gather", "gather"):
            wanted = everyone if self.kind == "all_gather" else [self.root]
            return [(source, set(wanted)) for source in everyone for _ in count]
        if self.kind == "all_to_all":
            return [(source, {c // self.part}) for source in everyone for c in count]
        if self.kind == "broadcast":
            return [(self.root, set(everyone)) for _ in count]
        if self.kind == "all_reduce":
            return [(self.dice.randrange(self.ranks), set(everyone)) for _ in count]
        if self.kind == "reduce":
            return [(self.root, {self.root}) for _ in count]
        owners = [c // self.part for c in count]
        return [(o if self.kind in SUMS else self.root, {o}) for o in owners]

    def reductions(self, tops):
        """Steps in which chunk c is added up along a random tree, towards tops[c]."""
        parents, open_children, steps = [], [], []
        for top in tops:
            joined, parent = [top], {}
            others = [rank for rank in range(self.ranks) if rank != top]
            self.dice.shuffle(others)
            for rank in others:
                parent[rank] = self.dice.choice(joined)
                joined.append(rank)
            parents.append(parent)
            children = list(parent.values())
            open_children.append({rank: children.count(rank) for rank in range(self.ranks)})
        while any(parents):
            step = [
                ("reduce", chunk, rank, parent[rank])
                for chunk, parent in enumerate(parents)
                for rank in sorted(parent)
                if open_children[chunk][rank] == 0 and self.dice.random() < 0.6
            ]
            for _, chunk, rank, parent in step:
                del parents[chunk][rank]
                open_children[chunk][parent] -= 1
            steps.append(step)
        return steps

    def copies(self, ends):
        """Steps in which chunks go on from anyone who has them, also to some who do not ask."""
        have, steps = [{source} for source, _ in ends], []
        while any(wanted - there for (_, wanted), there in zip(ends, have)):
            step = []
            for chunk, ((_, wanted), there) in enumerate(zip(ends, have)):
                targets = range(self.ranks) if self.dice.random() < 0.1 else wanted
                for target in sorted(set(targets) - there) if wanted - there else []:
                    if self.dice.random() < 0.5:
                        source = self.dice.choice(sorted(there))
                        step.append(("send", chunk, source, target))
            for _, chunk, _, target in step:
                have[chunk].add(target)
            steps.append(step)
        return steps

    def text(self):
        ends = self.ends()
        steps = self.reductions([top for top, _ in ends]) if self.kind in SUMS else []
        links = [(a, b) for a in range(self.ranks) for b in range(self.ranks) if a != b]
        lines = [f"coll.topology @mesh ranks = {self.ranks} {{"]
        lines += [f"  coll.link {a} -> {b} bandwidth = 1" for a, b in links] + ["}"]
        root = f" root = {self.root}" if self.kind in ROOTED else ""
        lines.append(f"coll.schedule @s of {self.kind} on @mesh chunks = {self.chunks}{root} {{")
        for step in filter(None, steps + self.copies(ends)):
            used = [(a, b) for _, _, a, b in step]
            lines.append(f"  coll.step rounds = {max(map(used.count, used))} {{")
            lines += [f"    coll.{word} {c} over {a} -> {b}" for word, c, a, b in step]
            lines.append("  }")
        return "\n".join(lines + ["}", ""])

    def expected(self, inputs, combine, count):
        """By rank."""
        everyone = range(self.ranks)
        mine = [slice(rank * count, rank * count + count) for rank in everyone]
        if self.kind in SUMS:
            total = [combine(values) for values in zip(*inputs)]
            if self.kind == "reduce_scatter":
                return [total[mine[rank]] for rank in everyone]
        elif self.kind == "all_to_all":
            return [sum((inputs[source][part] for source in everyone), []) for part in mine]
        elif self.kind == "scatter":
            return [inputs[self.root][part] for part in mine]
        else:
            total = sum(inputs, [])  # of a broadcast only the root has one
        alone = self.kind in ("gather", "reduce")
        return [total if not alone or rank == self.root else [] for rank in everyone]


def check(seed, folder):
    case, pieces = Case(seed), seed % 3 + 1
    schedule, path = folder / f"{seed}.mlir", folder / f"{seed}.py"
    schedule.write_text(case.text())
    subprocess.run(["sccl", "convert", schedule, path, f"--pieces={pieces}"], check=True)
    module = load(path)
    has = [module.read(rank)[0] for rank in range(case.ranks)]
    for op, combine in [("SUM", sum), ("MAX", max)]:
        for count in [1, 29, 64]:
            inputs = [[case.dice.randrange(-99, 99) for _ in range(h["i"] * count)] for h in has]
            outputs = [torch.tensor([0] * (h["o"] * count), torch.int32) for h in has]
            sent = [torch.tensor(values, torch.int32) for values in inputs]
            run(module, sent, outputs, op=getattr(dist.ReduceOp, op), count=count)
            if list(map(list, outputs)) != case.expected(inputs, combine, count):
                return False
    return True


if __name__ == "__main__":
    seeds = range(int(sys.argv[2]), int(sys.argv[3]) + 1)
    wrong = [seed for seed in seeds if not check(seed, pathlib.Path(sys.argv[1]))]
    print(f"{len(seeds)} random schedules, wrong: {wrong}")
