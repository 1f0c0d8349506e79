# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs COMMAND several times, and interrupts it ever later; each time it must
end soon, with exit code 3 and the best answer so far, which is printed once.

As `timeout -s INT` does, each request is two signals. usage: COMMAND...
"""

import signal
import subprocess
import sys
import time

for tenths in (8, 10, 12, 14, 16, 40):
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
    time.sleep(tenths / 10)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    try:
        output, _ = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"still at work 30 s after Ctrl-C at {tenths / 10} s")
    if process.returncode != 3 or not output:
        sys.exit(f"exit code {process.returncode} and {len(output)} bytes "
                 f"after Ctrl-C at {tenths / 10} s")
sys.stdout.buffer.write(output)
