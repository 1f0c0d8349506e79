# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends COMMAND, which writes OUTPUT, by SIGTERM while it is at work. None of its
processes may go on, and nothing may be left. usage: OUTPUT COMMAND...
"""

import os
import signal
import subprocess
import sys
import time

output, command = sys.argv[1], sys.argv[2:]
folder = os.path.dirname(output)


def others():
    """The processes, but for this one, whose command line names OUTPUT."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\0")
        except OSError:
            continue
        if int(pid) != os.getpid() and words[0] == command[0] and output in words:
            found.append(pid)
    return found


before = set(os.listdir(folder))
process = subprocess.Popen(command)
while len(others()) < 2:  # the tool, and the child that compiles
    if process.poll() is not None:
        sys.exit("the command ended before it was disturbed")
    time.sleep(0.01)
time.sleep(0.2)
process.send_signal(signal.SIGTERM)
process.wait()
deadline = time.monotonic() + 30
while others():
    if time.monotonic() > deadline:
        sys.exit("a child goes on after SIGTERM")
    time.sleep(0.05)
left = set(os.listdir(folder)) - before
if left:
    sys.exit(f"left behind: {sorted(left)}")
print("ended, nothing left")
