# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs modules that sccl convert has written, on the torch in fake/, and the plans of the same
schedules by libsccl, and compares the bits. Usage: emitted_fake.py MODULE.py PLAN.sccl ...
"""
import concurrent.futures
import importlib.util
import random
import sys

import torch
import torch.distributed as dist

import sccl

COUNTS = [1, 37, 200]
OPS = {"sum": "SUM", "prod": "PRODUCT", "min": "MIN", "max": "MAX", "avg": "AVG"}


def load(path):
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module, inputs, outputs, **words):
    """All ranks. A rank has an output of its own."""
    world = dist.ProcessGroup(len(inputs))

    def main(rank):
        dist.enter(world, rank)
        output = outputs[rank] if outputs[rank].numel() else None
        module.run(output, inputs[rank], **words)

    with concurrent.futures.ThreadPoolExecutor(len(inputs)) as pool:
        list(pool.map(main, range(len(inputs))))


def compare(path, plan_path):
    module, plan, bad = load(path), sccl.Plan(plan_path), []
    combines = any(" sum " in text for text in module.PROGRAM)
    has = [module.read(rank)[0] for rank in range(plan.ranks)]
    for count in COUNTS:
        for op in OPS if combines else ["sum"]:
            inputs = [[random.uniform(-2, 2) for _ in range(h["i"] * count)] for h in has]
            inputs = [torch.tensor(values, torch.float32) for values in inputs]
            zeros = [[0] * (h["o"] * count) for h in has]
            outputs = [torch.tensor(values, torch.float32) for values in zeros]
            run(module, inputs, outputs, op=getattr(dist.ReduceOp, OPS[op]), count=count)

            def launch(comm):
                comm.load(plan)
                mine = torch.tensor(zeros[comm.rank], torch.float32).store
                send = inputs[comm.rank].store
                comm.launch(plan, send or None, mine or None, count, "f32", op)
                return mine.tobytes()

            expected = sccl.run_threads(plan.ranks, launch, order="any")
            if expected != [output.store.tobytes() for output in outputs]:
                bad.append((op, count))
            if all(i.numel() == o.numel() for i, o in zip(inputs, outputs)):
                run(module, inputs, inputs, op=getattr(dist.ReduceOp, OPS[op]))
                if expected != [input.store.tobytes() for input in inputs]:
                    bad.append((op, count, "in place"))
    print(f"{plan.collective} of {plan.ranks} ranks: other bits than libsccl's: {bad}")


def refused(path):
    """What does not fit is refused before anything is sent."""
    module = load(path)
    for what, input, output, size in [
        ("ranks", [1] * 4, [1] * 4, 3),
        ("lengths", [1] * 4, [1] * 5, 4),
        ("nothing", [1] * 4, None, 4),
        ("op", [1] * 4, [1] * 4, 4),
    ]:
        tensors = [v if v is None else torch.tensor(v, torch.float32) for v in (output, input)]
        dist.enter(dist.ProcessGroup(size), 0)
        try:
            module.run(*tensors, op="xor")
            print(f"{what}: nothing is wrong")
        except Exception as error:
            print(f"{what}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    random.seed(7)
    if sys.argv[1] == "refused":
        refused(sys.argv[2])
    else:
        for path, plan_path in zip(sys.argv[1::2], sys.argv[2::2]):
            compare(path, plan_path)
