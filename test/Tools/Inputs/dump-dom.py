# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the document that a page becomes in Chromium, once its script has run.

usage: dump-dom.py FILE.html FRAGMENT

Fails if the script has written to the console, as it does on an error.
"""
import subprocess
import sys

path, fragment = sys.argv[1:]
command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
command += ["--virtual-time-budget=2000", "--dump-dom", f"file://{path}{fragment}"]
done = subprocess.run(command, capture_output=True, text=True, timeout=300)
complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
print(done.stdout)
if complaints or done.returncode:
    sys.exit("\n".join(complaints or [done.stderr]))
