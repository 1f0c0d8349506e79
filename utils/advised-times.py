#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what `sccl plan` says with what the programs of its plan take.

For each machine and collective: one command makes a plan for sm_90, and
`sccl simulate` takes each size's program out of the file. Prints a line per
plan, and the rows that differ by more than 1 %. Exits 1 if there are any.

  utils/advised-times.py --sccl build/bin/sccl h100 h100:boxes=4
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

COLLECTIVES = ["all_gather", "all_reduce", "reduce_scatter", "all_to_all",
               "broadcast", "reduce", "gather", "scatter"]


def lines(command):
    done = subprocess.run(command, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, rows, done.stderr


def compare(args, machine, collective, folder):
    path = os.path.join(folder, "plan.sccl")
    start = time.time()
    code, advised, errors = lines(
        [args.sccl, "plan", f"--machine={machine}",
         f"--collective={collective}", f"--timeout={args.timeout}",
         f"--target={args.target}", "-o", path, "--json"])
    seconds = time.time() - start
    if code not in (0, 3) or not os.path.exists(path):
        return f"{machine} {collective}: plan failed ({code}): {errors}", 0, 1
    code, rows, errors = lines([args.sccl, "simulate", path, "--json"])
    os.remove(path)
    if code:
        return f"{machine} {collective}: simulate failed: {errors}", 0, 1
    taken = {row["bytes"]: row for row in rows}
    bad, note = 0, ""
    for row in advised:
        own = taken.get(row["bytes"])
        if not own or abs(own["microseconds"] / row["microseconds"] - 1) > 0.01:
            bad += 1
            note += (f"\n  {row['bytes']}: advised {row['microseconds']:.3f}, "
                     + (f"{own['program']} takes {own['microseconds']:.3f}"
                        if own else "no program"))
    return (f"{machine} {collective}: {len(advised)} rows, {bad} differ, "
            f"{seconds:.1f} s{note}"), len(advised), bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="+")
    parser.add_argument("--sccl", default="sccl")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--timeout", default="60")
    parser.add_argument("--collectives", default=",".join(COLLECTIVES))
    args = parser.parse_args()
    total = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        for machine in args.machines:
            for collective in args.collectives.split(","):
                text, rows, bad = compare(args, machine, collective, folder)
                print(text, flush=True)
                total += rows
                differ += bad
    print(f"{total} rows, {differ} differ by more than 1 %")
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
