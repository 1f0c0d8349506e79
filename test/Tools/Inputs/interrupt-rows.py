# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interrupts the second row of a table, and prints the status of each.

interrupt-rows.py SIGNAL SCCL ARGUMENTS...

The first row is over when its line is there; from then on SIGNAL is sent, further apart than
what would end the process, until the second line is there.
"""

import json
import signal
import subprocess
import sys
import threading

number = getattr(signal, sys.argv[1])
run = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
lines = [run.stdout.readline()]
answered = threading.Event()


def send():
    # The row before has been printed; the next one begins then.
    answered.wait(1)
    run.send_signal(number)
    while not answered.wait(3):
        run.send_signal(number)


sender = threading.Thread(target=send)
sender.start()
lines.append(run.stdout.readline())
answered.set()
sender.join()
rest, errors = run.communicate()
for line in lines + rest.splitlines():
    if line:
        row = json.loads(line)
        print(row["topology"], row["status"], row.get("reason", ""))
print(errors, end="")
print("exit", run.returncode)
