# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a topology of NCCL with 100000 GPUs.

usage: write-large.py FILE flat|nested
"""
import sys

COUNT = 100000
close, end = ("</pci>", "") if sys.argv[2] == "flat" else ("", "</pci>" * COUNT)
with open(sys.argv[1], "w") as file:
    file.write('<system version="1"><cpu numaid="0">\n')
    for i in range(COUNT):
        file.write(f'<pci busid="{i:08x}:00:00.0" class="0x030200"><gpu dev="{i}" sm="90"/>{close}\n')
    file.write(end + "</cpu></system>\n")
