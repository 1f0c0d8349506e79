"""Writes a topology of NCCL with 100000 GPUs, one inside the other.

usage: write-large.py FILE
"""
import sys

COUNT = 100000
with open(sys.argv[1], "w") as file:
    file.write('<system version="1"><cpu numaid="0">\n')
    for i in range(COUNT):
        file.write(f'<pci busid="{i:08x}:00:00.0" class="0x030200"><gpu dev="{i}" sm="90"/>\n')
    file.write("</pci>" * COUNT + "</cpu></system>\n")
