# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the manifest of a plan to a file: manifest.py PLAN FILE."""

import struct
import sys

with open(sys.argv[1], "rb") as plan, open(sys.argv[2], "wb") as out:
    head = plan.read(80)
    out.write(plan.read(struct.unpack_from("<Q", head, 16)[0]))
