# ===- __init__.py - The package --------------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Optimal collective algorithms, from a machine to programs that run.

Machines, frontiers, schedules, certificates and plans are objects, made by the tool
``sccl``; communicators run plans with libsccl, on buffers that are not copied.

>>> import sccl
>>> machine = sccl.Machine("mesh:4")
>>> frontier = machine.frontier("all_reduce", max_steps=2)
>>> frontier.complete
True
>>> point = frontier[-1]
>>> point.steps, point.cost, point.is_optimal
(2, Fraction(1, 2), True)
>>> plan = point.schedule.compile(elements=["f32"])
>>> plan.collective, plan.ranks
('all_reduce', 4)

Ranks are processes or, as here, threads:

>>> import array
>>> def main(comm):
...     comm.load(plan)
...     mine = array.array("f", [comm.rank, 1.0])
...     comm.all_reduce(mine)
...     return list(mine)
>>> sccl.run_threads(4, main)[3]
[6.0, 4.0]
"""
from ._library import (
    Aborted,
    Error,
    InvalidArgument,
    InvalidPlan,
    Mismatch,
    RankLost,
    Timeout,
    Unsupported,
    version,
)
from . import shelf
from .communicator import Communicator
from .machines import Machine
from .plans import Plan
from .ranks import Gather, StoreGather, ThreadGather, run_threads
from .schedules import (
    Certificate,
    Frontier,
    Point,
    Refuted,
    Schedule,
    Step,
    Topology,
    Transfer,
    Undecided,
)

for _name in ("Error", "InvalidArgument", "InvalidPlan", "Mismatch", "Unsupported"):
    globals()[_name].__module__ = "sccl"
for _name in ("Timeout", "RankLost", "Aborted", "Refuted", "Undecided"):
    globals()[_name].__module__ = "sccl"

__all__ = [
    "Aborted",
    "Certificate",
    "Communicator",
    "Error",
    "Frontier",
    "Gather",
    "InvalidArgument",
    "InvalidPlan",
    "Machine",
    "Mismatch",
    "Plan",
    "Point",
    "RankLost",
    "Refuted",
    "Schedule",
    "Step",
    "StoreGather",
    "ThreadGather",
    "Timeout",
    "Topology",
    "Transfer",
    "Undecided",
    "Unsupported",
    "run_threads",
    "shelf",
    "version",
]
