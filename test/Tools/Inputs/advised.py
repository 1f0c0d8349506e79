# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails if a row that `sccl simulate PLAN --json` has printed is more than 1 % from what
was advised. Usage: advised.py FILE"""

import json
import sys

rows = [json.loads(line) for line in open(sys.argv[1])]
rows = [row for row in rows if "advised_microseconds" in row]
assert rows
for row in rows:
    taken, advised = row["microseconds"], row["advised_microseconds"]
    assert abs(taken - advised) <= 0.01 * advised, row
