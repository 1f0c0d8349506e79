#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""utils/clock.py [--sccl PATH]

Prints what `sccl plan` says that collectives take beside what others measured and
published (docs/Clock.md), and which time of a launch fits every second point best.
Nothing here ran on a GPU.
"""

import argparse
import json
import math
import re
import statistics
import subprocess

# Machine (and some of its GPUs), collective, bytes of a send buffer, microseconds,
# source.
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CI = "MSCCL++, test/deploy/perf_ndmv"
VLLM = "vLLM, PR 24111: the best of one-shot and two-shot"
TWO = "MSCCL++, tutorial 03: two GPUs, both ways, "
FOUR, SIX, PAIR = "h100 --group=0-3", "h100 --group=0-5", "h100 --group=0,1"


def bus(ranks, size, gigabytes, times=1):
    """Microseconds at a bus bandwidth, as nccl-tests counts it."""
    return times * (ranks - 1) / ranks * size / (gigabytes * 1e3)


POINTS = [
    ("h100", "all_reduce", 24 * KIB, 6.18, CI + "5.jsonl"),
    ("h100", "all_reduce", 48 * KIB, 6.62, CI + "5.jsonl"),
    ("h100", "all_reduce", 72 * KIB, 6.91, CI + "5.jsonl"),
    ("h100", "all_reduce", GIB, bus(8, GIB, 370, 2), "nccl-tests 212, ring"),
    ("a100", "all_reduce", 8 * KIB, 6.51, CI + "4.jsonl"),
    ("a100", "all_reduce", 24 * KIB, 7.24, CI + "4.jsonl"),
    ("a100", "all_reduce", 48 * KIB, 7.91, CI + "4.jsonl"),
    ("a100", "all_reduce", 72 * KIB, 8.28, CI + "4.jsonl"),
    ("a100", "all_reduce", 16 * MIB, 157, CI + "4.jsonl"),
    ("a100", "all_reduce", GIB, bus(8, GIB, 244, 2), CI + "4.jsonl"),
    ("a100", "all_gather", GIB // 8, bus(8, GIB, 255), CI + "4.jsonl"),
    (FOUR, "all_reduce", MIB // 2, 10, VLLM),
    (FOUR, "all_reduce", MIB, 15, VLLM),
    (FOUR, "all_reduce", 4 * MIB, 29, VLLM),
    (SIX, "all_reduce", MIB // 2, 13, VLLM),
    (SIX, "all_reduce", MIB, 17, VLLM),
    (SIX, "all_reduce", 2 * MIB, 26, VLLM),
    (PAIR, "all_gather", KIB, 4.1, TWO + "packets"),
    (PAIR, "all_gather", 128 * MIB, 128 * MIB / 345e3, TWO + "put"),
]


def predicted(sccl, machine, collective, size):
    command = [sccl, "plan", *f"--machine={machine}".split(), f"--collective={collective}"]
    command += [f"--from={size}", f"--to={size}", "--json"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[0])


def launch_of(sccl):
    """Microseconds of a launch, of those that `plan` says it assumes."""
    command = [sccl, "plan", "--machine=h100", "--collective=all_gather", "--to=1024"]
    output = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(re.search(r"a launch ([0-9.]+)", output.stdout + output.stderr)[1])


def best_launch(launch, points):
    """The launch, in steps of 0.1 us, of the least median error of (predicted, published)."""

    def error(other):
        return statistics.median(
            abs(math.log((time - launch + other) / published)) for time, published in points
        )

    return min((tenths / 10 for tenths in range(100)), key=error)


def summary(points):
    errors = [abs(time / published - 1) for time, published in points]
    worst = max(max(time / published, published / time) for time, published in points)
    return f"median error {100 * statistics.median(errors):.0f} %, worst {worst:.2f} times"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[0])
    parser.add_argument("--sccl", default="sccl")
    options = parser.parse_args()
    points = []
    print("| machine | collective | bytes | predicted us | published us | ratio | program | source |")
    print("|---|---|---|---|---|---|---|---|")
    for machine, collective, size, published, source in POINTS:
        row = predicted(options.sccl, machine, collective, size)
        points.append((row["microseconds"], published))
        ratio = row["microseconds"] / published
        print(
            f"| {machine} | {collective} | {size} | {row['microseconds']:.1f} | {published:.1f} "
            f"| {ratio:.2f} | S = {row['steps']}, {row['lowering']} | {source} |"
        )
    fitted, judged = points[::2], points[1::2]
    launch = launch_of(options.sccl)
    print(f"fitted, the first and every second one after it: {summary(fitted)}")
    print(f"best of a launch for them: {best_launch(launch, fitted)} us, where it is {launch}")
    print(f"judged, the others: {summary(judged)}")


if __name__ == "__main__":
    main()
