# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs for NCCL that sccl convert has written, compiled with ranks.cpp, and the plans of
the same schedules by libsccl, and compares the bits.
Usage: emitted_nccl.py TYPES PROGRAM.so PLAN.sccl ..., TYPES with commas between them.
"""
import ctypes
import random
import struct
import sys

import sccl

COUNTS = [1, 37, 200]
OPS = ["sum", "prod", "max", "min", "avg"]  # by NCCL's numbers
TYPES = ["i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16"]
BYTES = dict(zip(TYPES, [1, 1, 4, 4, 8, 8, 2, 4, 8, 2]))


def numbers(count, type):
    if type[0] in "iu":
        return random.randbytes(count * BYTES[type])
    values = [random.uniform(-2, 2) for _ in range(count)]
    if type == "bf16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{count}" + {"f16": "e", "f32": "f", "f64": "d"}[type], *values)


def pointers(buffers):
    values = [ctypes.addressof(b) if len(b) else None for b in buffers]
    return (ctypes.c_void_p * len(buffers))(*values)


def memory(data):
    return (ctypes.c_char * len(data)).from_buffer_copy(data)


def libsccl(plan, inputs, lengths, count, type, op):
    def launch(comm):
        comm.load(plan)
        mine, send = bytearray(lengths[comm.rank]), bytearray(inputs[comm.rank])
        comm.launch(plan, send or None, mine or None, count, type, op)
        return bytes(mine)

    return sccl.run_threads(plan.ranks, launch, order="any")


def compare(types, path, plan_path):
    program, plan, bad = ctypes.CDLL(path), sccl.Plan(plan_path), []
    two = ctypes.c_int * 2
    has = [two() for _ in range(plan.ranks)]
    for rank in range(plan.ranks):
        program.segments(rank, has[rank])
    cases = [(t, o, c) for t in types for o in OPS for c in COUNTS]
    if "reduce" not in plan.collective:
        cases = [case for case in cases if case[1] == "sum"]
    for type, op, count in cases:
        inputs = [numbers(i * count, type) for i, _ in has]
        lengths = [o * count * BYTES[type] for _, o in has]
        expected = libsccl(plan, inputs, lengths, count, type, op)
        words = ctypes.c_size_t(count), TYPES.index(type), OPS.index(op)
        sent, got = [memory(data) for data in inputs], [memory(bytes(n)) for n in lengths]
        code = program.launch(plan.ranks, pointers(sent), pointers(got), *words, 0)
        if code or [b.raw for b in got] != expected or [b.raw for b in sent] != inputs:
            bad.append((type, op, count, code))
        if [len(b) for b in sent] == lengths:
            code = program.launch(plan.ranks, pointers(sent), pointers(sent), *words, 1)
            if code or [b.raw for b in sent] != expected:
                bad.append((type, op, count, code, "in place"))
    print(f"{plan.collective} of {plan.ranks} ranks: {len(cases)} cases, other bits than "
          f"libsccl's: {bad}", flush=True)


if __name__ == "__main__":
    random.seed(7)
    for path, plan_path in zip(sys.argv[2::2], sys.argv[3::2]):
        compare(sys.argv[1].split(","), path, plan_path)
