# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with a terminal as standard error and prints what appears there,
a line for each time that the line is begun again: on-terminal.py [--until=REGEX] COMMAND...

With --until the command is ended, and all is well, as soon as REGEX has appeared."""
import os
import pty
import re
import subprocess
import sys

command = sys.argv[1:]
until = None
if command[0].startswith("--until="):
    until = re.compile(command.pop(0).removeprefix("--until=").encode())
terminal, end = pty.openpty()
process = subprocess.Popen(command, stderr=end)
os.close(end)
text = b""
seen = False
while not seen:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    text += part
    seen = bool(until and until.search(text))
if seen:
    process.terminate()
code = process.wait()
sys.stdout.write(text.decode().replace("\r", "\n"))
sys.exit(0 if seen else code)
