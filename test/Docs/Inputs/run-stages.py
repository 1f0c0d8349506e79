#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the stages of a page and looks for what it shows of each.

usage: run-stages.py PAGE.md FOLDER

A block that begins with `cat`, `sccl-opt` or `sccl` is a stage: its command is
run in FOLDER. The lines of every other block must stand in this order in what
the last stage printed, or in the file that it wrote.
"""
import pathlib
import re
import subprocess
import sys

page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
stages = differing = 0
output = ""
for block in re.findall(r"^```\n(.*?)^```$", page.read_text(), re.S | re.M):
    if re.match(r"cat |sccl", block):
        result = subprocess.run(
            block, shell=True, cwd=folder, capture_output=True, text=True
        )
        if result.returncode:
            sys.exit(f"failed: {block}{result.stderr}")
        written = re.search(r"-o (\S+)", block)
        output = (folder / written[1]).read_text() if written else result.stdout
        stages += not block.startswith("cat ")
        continue
    at = 0
    for line in block.splitlines():
        found = output.find(line.strip(), at)
        if found < 0:
            print(f"not there: {line}")
            differing += 1
            break
        at = found
print(f"{stages} stages, {differing} differ")
sys.exit(differing != 0)
