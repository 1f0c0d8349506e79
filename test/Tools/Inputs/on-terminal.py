# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with a terminal as standard error and prints what appears there,
a line for each time that the line is begun again: on-terminal.py COMMAND..."""
import os
import pty
import subprocess
import sys

terminal, end = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stderr=end)
os.close(end)
text = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    text += part
code = process.wait()
sys.stdout.write(text.decode().replace("\r", "\n"))
sys.exit(code)
