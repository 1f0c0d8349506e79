# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of several, which meet by files in a folder, and have no MPI.

usage: host_rank.py RANK SIZE FOLDER PLAN [DYING-RANK]

Adds up, and compares with the definition. DYING-RANK ends in the middle; the others say
how they learn that.
"""
import array
import os
import pathlib
import sys
import threading
import time

from sccl import Communicator, Error, Plan, StoreGather


class Files:
    """A store whose `get` waits."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, key):
        return self.folder / key.replace("/", "-")

    def set(self, key, text):
        new = self.path(key + ".new")
        new.write_text(text)
        new.rename(self.path(key))

    def get(self, key):
        end = time.monotonic() + 60
        while not self.path(key).exists():
            if time.monotonic() > end:
                sys.exit(f"no {key}")
            time.sleep(0.001)
        return self.path(key).read_bytes()


def main():
    rank, size = int(sys.argv[1]), int(sys.argv[2])
    dying = int(sys.argv[5]) if len(sys.argv) > 5 else -1
    gather = StoreGather(rank, size, Files(sys.argv[3]))
    with Communicator(gather, timeout=10) as comm:
        comm.load(Plan(sys.argv[4]))
        for count in (1, 1000, 1 << 20):
            data = array.array("f", [rank + 1.0]) * count
            comm.all_reduce(data)
            if set(data) != {size * (size + 1) / 2}:
                sys.exit(f"rank {rank}: the sum of {count} is {data[0]}")
        if dying < 0:
            print(f"rank {rank}: the sums are right\n", end="", flush=True)
            return
        if rank == dying:
            threading.Timer(0.5, os._exit, [9]).start()
        begin = time.monotonic()
        try:
            while True:
                comm.all_reduce(data)
        except Error as error:
            if time.monotonic() - begin > 20:
                sys.exit(f"rank {rank}: too late: {error}")
            # At once, as others print, too.
            print(f"rank {rank}: {type(error).__name__}: {error}\n", end="", flush=True)


main()
