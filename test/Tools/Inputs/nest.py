# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a line many times: nest.py LINE TIMES."""
import sys

print((sys.argv[1] + "\n") * int(sys.argv[2]), end="")
