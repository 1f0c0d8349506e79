# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes each call of @coll_end in the kernels of GCN assembly, in turn, one of
@coll_wait, and says how many of these texts the audit refuses.

    end-elsewhere.py FILE.s OUTPUT.s
"""

import subprocess
import sys

CALL = "coll_end@rel32"

lines = open(sys.argv[1]).read().split("\n")
calls = [i for i, line in enumerate(lines) if CALL + "@lo" in line]
refused = 0
for call in calls:
    changed = [
        line.replace("coll_end", "coll_wait") if i in (call, call + 1) else line
        for i, line in enumerate(lines)
    ]
    open(sys.argv[2], "w").write("\n".join(changed))
    audit = subprocess.run(["sccl", "check", sys.argv[2]],
                           capture_output=True, text=True)
    refused += "D2: a block may return without" in audit.stderr
print("all refused" if calls and refused == len(calls) else
      f"{refused} of {len(calls)} refused")
