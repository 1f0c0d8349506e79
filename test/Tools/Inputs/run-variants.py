# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a schedule in every way in which it can be lowered.

usage: run-variants.py FILE BYTES...

Combines transports, direct or through scratch, scratch once or double_buffered, code
as calls or as a table, one kernel or one for each step; with each size of a send
buffer in turn. `sccl run` compares every element of every launch. Prints how
many variants there were; fails if one is wrong.
"""
import itertools
import json
import subprocess
import sys


def variants():
    on_off = lambda flag: ([], [flag])
    for shape, scratch in itertools.product(
        ("unrolled", "table"), on_off("--through-scratch")
    ):
        common = [f"--code-shape={shape}", *scratch]
        for transport, doubled in itertools.product(
            ("push", "pull"), on_off("--double-buffer")
        ):
            yield [f"--transport={transport}", *doubled, *common]
        for transport in "push", "pull", "dma":
            yield ["--steps", f"--transport={transport}", *common]


def main():
    path, sizes = sys.argv[1], itertools.cycle(sys.argv[2:])
    count = bad = 0
    for options, size in zip(variants(), sizes):
        command = ["sccl", "run", path, f"--bytes={size}", *options]
        # With five launches each half of scratch is used again, twice.
        command += ["--element=u8", "--iterations=5", "--timeout=300", "--json"]
        run = subprocess.run(command, capture_output=True, text=True)
        result = json.loads(run.stdout) if run.stdout else {}
        count += 1
        elements = result.get("elements", 0)
        if run.returncode or result.get("wrong") != 0 or (elements == 0) != (size == "0"):
            bad += 1
            print(" ".join(command))
            print(run.stdout + run.stderr)
    print(f"{count} variants, {bad} wrong")
    return 1 if bad or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
