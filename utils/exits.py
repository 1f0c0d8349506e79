#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and fails unless it exits with the expected code.

usage: exits.py CODE COMMAND...   (in lit tests: %exits CODE COMMAND...)

lit's own `not` cannot tell exit code 1 from 2 and 3, which mean different
things in sccl.
"""
import subprocess
import sys


def main():
    expected, command = int(sys.argv[1]), sys.argv[2:]
    actual = subprocess.run(command).returncode
    if actual == expected:
        return 0
    print(
        f"exits.py: expected exit code {expected}, got {actual}: "
        + " ".join(command),
        file=sys.stderr,
    )
    return 99


if __name__ == "__main__":
    sys.exit(main())
