# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the topology of a grid that does not wrap around: grid.py ROWS COLUMNS."""
import sys

rows, columns = map(int, sys.argv[1:])
print(f"coll.topology @grid ranks = {rows * columns} {{")
for rank in range(rows * columns):
    row, column = divmod(rank, columns)
    neighbours = []
    if column + 1 < columns:
        neighbours.append(rank + 1)
    if row + 1 < rows:
        neighbours.append(rank + columns)
    for other in neighbours:
        print(f"  coll.link {rank} -> {other} bandwidth = 1")
        print(f"  coll.link {other} -> {rank} bandwidth = 1")
print("}")
