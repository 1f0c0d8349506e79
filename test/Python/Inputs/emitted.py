# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs modules that sccl convert has written on gloo, and the plans of the same schedules by
libsccl, and compares the bits. Usage: emitted.py TYPES MODULE.py PLAN.sccl ..., where TYPES are
types of sccl with commas between them. Every other module is for a group of some ranks.
"""
import importlib.util
import sys

import torch
import torch.distributed as dist
from torch_ranks import start

import sccl

COUNTS = [1, 37, 1000, 1024]
OPS = ["sum", "prod", "min", "max", "avg"]
TYPES = {"i8": torch.int8, "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64}
TYPES.update(f16=torch.float16, bf16=torch.bfloat16, f32=torch.float32, f64=torch.float64)
TORCH_OPS = dict(zip(OPS, [dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN]))
TORCH_OPS.update(max=dist.ReduceOp.MAX, avg=dist.ReduceOp.AVG)


def load(path):
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_tensor(size, kind):
    if kind.is_floating_point:
        return (torch.rand(size) * 4 - 2).to(kind)
    return torch.randint(0, 100, (size,)).to(kind)


def some(tensor):
    return tensor if tensor.numel() else None


def main(rank, size, module, outsiders, cases):
    """With `outsiders`, the ranks of the module are a group of those behind them."""
    group = dist.new_group(range(outsiders, size)) if outsiders else None
    rank -= outsiders
    for inputs, outputs, op, count in cases if rank >= 0 else []:
        words = {"op": TORCH_OPS[op], "group": group, "count": count}
        input, output = inputs[rank], outputs[rank]
        module.run(some(output), input, **words)
        if all(i.numel() == o.numel() for i, o in zip(inputs, outputs)):
            both = input.clone()
            module.run(both, both, **words)
            assert torch.equal(both, output), f"in place: {op} of {count}"


def run_libsccl(plan, cases, names):
    """What libsccl gives for each case and rank."""

    def launch(comm):
        comm.load(plan)
        results = []
        for (inputs, outputs, op, count), name in zip(cases, names):
            mine = torch.zeros_like(outputs[comm.rank])
            comm.launch(plan, some(inputs[comm.rank]), some(mine), count, name, op)
            results.append(mine)
        return results

    return sccl.run_threads(plan.ranks, launch, order="any")


def compare(types, path, plan_path, outsiders):
    module, plan = load(path), sccl.Plan(plan_path)
    combines = any(" sum " in text for text in module.PROGRAM)
    has = [module.read(rank)[0] for rank in range(plan.ranks)]
    cases, names = [], []
    for name in types:
        for op in OPS if combines else ["sum"]:
            for count in COUNTS:
                kind = TYPES[name]
                inputs = [random_tensor(h["i"] * count, kind).share_memory_() for h in has]
                outputs = [torch.zeros(h["o"] * count, dtype=kind).share_memory_() for h in has]
                cases.append((inputs, outputs, op, count))
                names.append(name)
    ends = start(main, outsiders + plan.ranks, module, outsiders, cases, backend="gloo")
    expected = run_libsccl(plan, cases, names)
    bad = set()
    for number, ((_, outputs, op, count), name) in enumerate(zip(cases, names)):
        for rank, output in enumerate(outputs):
            if not torch.equal(output, expected[rank][number]):
                bad.add((name, op, count))
    print(f"{plan.collective} of {plan.ranks} ranks: {len(cases)} cases, ended with "
          f"{sorted(set(ends))}, other bits than libsccl's: {sorted(bad)}", flush=True)


if __name__ == "__main__":
    torch.manual_seed(7)
    for i, (path, plan_path) in enumerate(zip(sys.argv[2::2], sys.argv[3::2])):
        compare(sys.argv[1].split(","), path, plan_path, outsiders=i % 2)
