"""Prints a line many times: nest.py LINE TIMES."""
import sys

print((sys.argv[1] + "\n") * int(sys.argv[2]), end="")
