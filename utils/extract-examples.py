#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every fenced mlir block of the given files through sccl-opt.

usage: extract-examples.py [--opt SCCL-OPT] FILE|DIR...

A directory stands for all .td and .md files below it; what does not exist is
skipped, so that a document may come later. Each block must parse, verify and
survive a round trip. Prints FILE:LINE of those that do not.
"""
import argparse
import pathlib
import subprocess
import sys
import textwrap


def blocks_of(text):
    """Yields (line number, text) of each fenced mlir block."""
    start, lines = None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.strip()
        if start is None and fence == "```mlir":
            start, lines = number + 1, []
        elif start is not None and fence == "```":
            yield start, textwrap.dedent("\n".join(lines)) + "\n"
            start = None
        elif start is not None:
            lines.append(line)
    if start is not None:
        raise ValueError(f"the block from line {start} on has no end")


def files_of(path):
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.suffix in (".td", ".md"))
    return [path] if path.exists() else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", default="sccl-opt")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    count = failures = 0
    for file in [f for path in arguments.paths for f in files_of(path)]:
        for line, block in blocks_of(file.read_text()):
            count += 1
            run = subprocess.run(
                [arguments.opt, "--verify-roundtrip", "-o", "/dev/null"],
                input=block,
                capture_output=True,
                text=True,
            )
            if run.returncode != 0:
                failures += 1
                print(f"{file}:{line}: the example fails\n{run.stderr}")
    print(f"{count} examples, {failures} failed")
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
