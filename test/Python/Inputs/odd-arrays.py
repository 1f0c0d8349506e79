# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's kinds of elements that are no numbers."""
import numpy

import sccl


def with_array(name, make):
    def main(comm):
        comm.load(plan)
        mine = make(comm.rank)
        comm.all_reduce(mine, type="u8" if name == "text" else None)
        return mine

    try:
        print(f"{name}: {sccl.run_threads(2, main)[0].tolist()}")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")


plan = sccl.Plan(sccl.shelf.host_plan("all_reduce", 2, element="u8"))
with_array("scalar", lambda rank: numpy.float32(1))
with_array("text", lambda rank: numpy.array(["abcd", "ef"]))
with_array("dates", lambda rank: numpy.zeros(4, "M8[ns]"))
with_array("objects", lambda rank: numpy.array([None]))
with_array("masked", lambda rank: numpy.ma.array([1, 2], numpy.uint8, mask=[0, 1]))
with_array("columns", lambda rank: numpy.zeros((2, 2), numpy.uint8)[:, 0])
with_array("fortran", lambda rank: memoryview(numpy.zeros((2, 3), numpy.uint8, "F")))
with_array("bool", lambda rank: numpy.array([True, rank == 1, False]))
