# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stops ranks of a command and prints how the command ends.

usage: stop-rank.py RANK|all COMMAND...
"""

import os
import signal
import subprocess
import sys
import time

limit_s = 40


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def main():
    which, command = sys.argv[1], sys.argv[2:]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while len(ranks := children(process.pid)) < 2 and process.poll() is None:
        time.sleep(0.01)
    # Until launches are under way.
    time.sleep(1)
    for rank in ranks if which == "all" else [ranks[int(which)]]:
        os.kill(rank, signal.SIGSTOP)
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"the command has not ended {limit_s} s later")
    print(output)
    print("exit code", process.returncode)
    print("left:", [pid for pid in ranks if os.path.exists(f"/proc/{pid}")])


main()
