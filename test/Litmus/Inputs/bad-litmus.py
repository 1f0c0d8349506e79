# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives `sccl check` each litmus test of a file's lines "CASE: TEST => MESSAGE", with
";" in place of line ends, and compares what it says.

usage: bad-litmus.py FILE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

wrong = 0
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "bad.litmus"
    for text, message in re.findall(r"^CASE: (.*) => (.*)$", pathlib.Path(sys.argv[1]).read_text(), flags=re.M):
        path.write_text(text.replace(";", "\n"))
        done = subprocess.run(["sccl", "check", path], capture_output=True, text=True)
        expected = f"{path}:{message}"
        if done.returncode != 1 or expected not in done.stderr:
            wrong += 1
            print(f"{text}\n  expected: {expected}\n  exit {done.returncode}: {done.stderr}")
sys.exit(1 if wrong else 0)
