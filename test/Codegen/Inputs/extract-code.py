# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the code that a plan has for a target to a file.

usage: extract-code.py PLAN.sccl TARGET FILE
"""
import json
import pathlib
import subprocess
import sys

plan, target, to = sys.argv[1:]
manifest = json.loads(subprocess.check_output(["sccl", "explain", "--contents", "--json", plan]))
kernel = next(k for k in manifest["kernels"] if k["target"] == target)
blob = manifest["blobs"][kernel["blob"]]
data = pathlib.Path(plan).read_bytes()
pathlib.Path(to).write_bytes(data[blob["offset"] :][: blob["bytes"]])
