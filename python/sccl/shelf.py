# ===- shelf.py - Where plans come from -------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Finds plans: in the folders of ``SCCL_PLAN_PATH``, or made for ranks of one host.

A host's ranks share its memory, which is a link between every two of them. For them
the tool makes plans of one and two steps on ``mesh:N``, once for each collective,
number of ranks, root and element type, and keeps them in ``$SCCL_CACHE_HOME``, or
``$XDG_CACHE_HOME/sccl``, or ``~/.cache/sccl``.
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile
from typing import Callable, Dict, List, Optional, Tuple

from . import _library, tool
from ._library import FLOATS, SMALL_FLOATS, Error, InvalidArgument, InvalidPlan
from .machines import Machine
from .plans import Plan

#: Collective to chunks, steps and rounds of its schedules; 0 stands for the ranks. An
#: all_reduce of one step adds in another order on each rank, and training wants the
#: same bits on all.
SHAPES: Dict[str, List[Tuple[int, int, int]]] = {
    "all_gather": [(1, 1, 1)],
    "all_reduce": [(0, 2, 2)],
    "all_to_all": [(0, 1, 1)],
    "broadcast": [(1, 1, 1)],
    "gather": [(1, 1, 1)],
    "reduce": [(1, 1, 1), (0, 2, 2)],
    "reduce_scatter": [(0, 1, 1)],
    "scatter": [(0, 1, 1)],
}
ROOTED = ("broadcast", "gather", "reduce", "scatter")
REDUCING = ("all_reduce", "reduce", "reduce_scatter")
#: Microseconds of a step and GB/s between two ranks, by which sizes get a schedule.
ALPHA, BANDWIDTH = 5, 3


def plan_files(path: str) -> List[pathlib.Path]:
    """The files in `path`, which names plans and folders of plans with ':' between
    them, as ``SCCL_PLAN_PATH`` does.

    >>> plan_files("/nowhere")
    Traceback (most recent call last):
    ...
    sccl.InvalidArgument: SCCL_PLAN_PATH: there is no /nowhere
    """
    files: List[pathlib.Path] = []
    for name in filter(None, path.split(os.pathsep)):
        entry = pathlib.Path(name)
        if not entry.exists():
            raise InvalidArgument(f"SCCL_PLAN_PATH: there is no {name}")
        found = sorted(entry.glob("*.sccl")) if entry.is_dir() else [entry]
        if not found:
            raise InvalidArgument(f"SCCL_PLAN_PATH: no .sccl file is in {name}")
        files += found
    return files


def read_plans(path: str) -> List[Plan]:
    """The plans in `path`; raises InvalidPlan for the first that is none."""
    plans = []
    for file in plan_files(path):
        try:
            plans.append(Plan(file))
        except InvalidPlan as error:
            cause = str(error).replace(f"{file}: ", "")
            raise InvalidPlan(f"SCCL_PLAN_PATH: {file}: {cause}", error.code) from None
    return plans


def asked_order(order: Optional[str] = None) -> Optional[str]:
    """The order of summation that `order`, or else ``SCCL_ORDER``, asks for, as
    communicators take it: in place of the name of a file there is what the file holds.
    None if any order will do.

    >>> asked_order("tree"), asked_order("any")
    ('tree', None)
    """
    order = order or os.environ.get("SCCL_ORDER")
    if not order or order == "any":
        return None
    is_known = order in ("same", "rank", "tree", "left")
    is_known |= order.startswith(("ring:", "(", "["))
    if not is_known and os.path.isfile(order):
        return pathlib.Path(order).read_text().strip()
    return order


def asks_for_one_rounding(one_rounding: Optional[bool] = None) -> bool:
    """Whether `one_rounding`, or else ``SCCL_ONE_ROUNDING``, asks that sums of small
    floats are rounded once. Raises InvalidArgument if that is neither 0 nor 1.

    >>> asks_for_one_rounding(True)
    True
    """
    if one_rounding is not None:
        return one_rounding
    word = os.environ.get("SCCL_ONE_ROUNDING") or "0"
    if word not in ("0", "1"):
        raise InvalidArgument(f"SCCL_ONE_ROUNDING is '{word}', expected 0 or 1")
    return word == "1"


def cache_folder() -> pathlib.Path:
    """Where plans that were made here are kept."""
    if os.environ.get("SCCL_CACHE_HOME"):
        return pathlib.Path(os.environ["SCCL_CACHE_HOME"])
    if os.environ.get("XDG_CACHE_HOME"):
        return pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "sccl"
    try:
        return pathlib.Path.home() / ".cache" / "sccl"
    except RuntimeError:  # as for users of a container who are in no list
        raise Error("there is no home directory for plans; set SCCL_CACHE_HOME") from None


def can_make() -> Optional[str]:
    """None if plans can be made, else why not."""
    if os.environ.get("SCCL_MAKE_PLANS", "1") == "0":
        return "SCCL_MAKE_PLANS is 0"
    return None if _library.tool() else "there is no tool sccl in PATH"


def host_target() -> str:
    """The best target of ``sccl compile`` that this CPU has."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    has_v3 = all(name in flags for name in ("avx2", "bmi2", "f16c", "fma"))
    return "host" if has_v3 else "x86-64"


def host_plan(
    collective: str,
    ranks: int,
    root: int = 0,
    element: str = "f32",
    order: Optional[str] = None,
    one_rounding: bool = False,
) -> pathlib.Path:
    """The file of a plan for ranks of this host, which is made if it is not there.

    Where values are reduced it is for one element type, and all reductions; those of
    floats are in the `order`, as `sccl plan --order` has it, and with `one_rounding`
    those of small floats are rounded once. One that is damaged is made anew. Raises
    Error if it cannot be kept, or there is none in that order.

    >>> host_plan("barrier", 2)
    Traceback (most recent call last):
    ...
    sccl.InvalidArgument: collective is 'barrier', expected all_gather, ...
    """
    _library.index(list(SHAPES), collective, "collective")
    if ranks < 1 or not 0 <= root < ranks:
        raise InvalidArgument(f"{ranks} ranks, and root {root}")
    name = f"{collective}-{ranks}"
    name += f"-root{root}" if collective in ROOTED else ""
    name += f"-{element}" if collective in REDUCING else ""
    if collective not in REDUCING or element not in FLOATS:
        order = None
    one_rounding &= collective in REDUCING and element in SMALL_FLOATS
    name += "-once" if one_rounding else ""
    if order:
        digest = hashlib.sha256(order.encode()).hexdigest()[:16]
        name += f"-{order if order.isalpha() else digest}"
    return _kept(name, lambda: _make(collective, ranks, root, element, order, one_rounding))


def meeting_plan(ranks: int) -> pathlib.Path:
    """The same for an all_gather that no call of a collective takes."""
    return _kept(f"meeting-{ranks}", lambda: _make_meeting(ranks))


def _kept(name: str, make: Callable[[], Plan]) -> pathlib.Path:
    """The file of that name, which `make` makes if it is not there."""
    # Another version of the tool may write another format.
    folder = cache_folder() / f"plans-{tool.version()}-{host_target()}"
    path = folder / f"{name}.sccl"
    try:
        if _is_whole(path):
            return path
        folder.mkdir(parents=True, exist_ok=True)
        plan = make()
        # Several groups may make it at once: the last one that is whole stays.
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(plan.data)
            os.fchmod(file.fileno(), 0o644)  # as other files, for users that share it
        os.replace(file.name, path)
    except OSError as error:
        raise Error(f"cannot keep plans in {folder}, of SCCL_CACHE_HOME: {error}") from None
    return path


def _is_whole(path: pathlib.Path) -> bool:
    if not path.exists():
        return False
    try:
        Plan(path)
    except InvalidPlan:
        return False
    return True


def _make_meeting(ranks: int) -> Plan:
    everyone = range(ranks)
    chunks = ", ".join(map(str, everyone))
    rows = [f"  coll.pre {rank} has [{rank}]" for rank in everyone]
    rows += [f"  coll.post {rank} has [{chunks}]" for rank in everyone]
    head = f"coll.collective @meeting ranks = {ranks} chunks = 1 distinct = {ranks} {{"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "meeting.mlir"
        path.write_text("\n".join([head, *rows, "}", ""]))
        machine = Machine(f"mesh:{ranks}")
        schedule = machine.synthesize(f"{path}:meeting", 1, 1, 1)
    return Plan.compile([schedule], [host_target()], variant=["push", "scratch"])


def _make(
    collective: str,
    ranks: int,
    root: int,
    element: str,
    order: Optional[str],
    one_rounding: bool,
) -> Plan:
    machine = Machine(f"mesh:{ranks}")
    schedules = [
        machine.synthesize(
            collective,
            chunks or ranks,
            steps,
            rounds,
            root=root if collective in ROOTED else None,
        )
        for chunks, steps, rounds in SHAPES[collective]
    ]
    reducing = collective in REDUCING
    return Plan.compile(
        schedules,
        [host_target()],
        [element] if reducing else [],
        _library.REDUCTIONS if reducing else [],
        # What peers do with memory that they reach, and with any other.
        variant=["pull" if reducing else "push", "scratch", "dma"],
        alpha=ALPHA,
        bandwidth=BANDWIDTH,
        order=order,
        one_rounding=one_rounding,
    )
