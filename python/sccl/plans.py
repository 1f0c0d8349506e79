# ===- plans.py - Compiled collectives --------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Plans: files with code for collectives, which communicators execute."""
from __future__ import annotations

import ctypes as c
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, List, Optional, Sequence, Union

from . import _library, tool
from ._library import InvalidArgument

if TYPE_CHECKING:
    from .schedules import Schedule


class Plan:
    """A plan in memory. Its code is trusted as a shared library is.

    >>> Plan(b"nothing of the kind")
    Traceback (most recent call last):
    ...
    sccl.InvalidPlan: ...this is no sccl plan...
    """

    def __init__(self, source: Union[str, pathlib.Path, bytes, bytearray, memoryview]):
        # Python forgets modules before it forgets the last plans.
        lib = self._library = _library.library()
        self._handle = c.c_void_p()
        if isinstance(source, (bytes, bytearray, memoryview)):
            source = self.data = bytes(source)
            self.path: Optional[str] = None
            code = lib.scclPlanLoadMemory(source, len(source), c.byref(self._handle))
        else:
            self.path = str(source)
            code = lib.scclPlanLoad(os.fsencode(self.path), c.byref(self._handle))
        _library.check(code)
        info = _library.PlanInfo(c.sizeof(_library.PlanInfo))
        _library.check(lib.scclPlanGetInfo(self._handle, c.byref(info)))
        # Copies: finalizers of a cycle may ask a plan that has had its own.
        self.collective: str = info.collective.decode()
        self.topology: str = info.topology.decode()
        #: SHA-256 of the contents.
        self.hash: str = info.hash.decode()
        self.ranks: int = info.ranks
        #: The root, 0 if the collective has none.
        self.root: int = info.root
        #: True if values are reduced: then it has code for some types only.
        self.reduces = bool(info.combining)
        #: What it has code for that this process may execute.
        self.targets: List[str] = info.targets.decode().split()

    @staticmethod
    def compile(
        schedules: Sequence["Schedule"],
        targets: Sequence[str] = ("host",),
        elements: Sequence[str] = (),
        reductions: Sequence[str] = (),
        **options: tool.Option,
    ) -> "Plan":
        """A plan of several schedules of one collective on one topology.

        It holds code for each of `elements` and `reductions` together, if the
        collective reduces; without them for f32 and sum. Other options are those of
        ``sccl compile``.
        """
        if not schedules:
            raise InvalidArgument("there are no schedules to compile")
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, schedule in enumerate(schedules):
                files.append(str(pathlib.Path(folder) / f"{number}.mlir"))
                schedule.save(files[-1])
            path = pathlib.Path(folder) / "plan.sccl"
            lists = {"target": targets, "element": elements, "reduction": reductions}
            words = tool.arguments(lists) + tool.arguments(options)
            tool.run("compile", *files, f"-o={path}", *words)
            return Plan(path.read_bytes())

    def save(self, path: Union[str, pathlib.Path]) -> None:
        """Writes the plan to a file."""
        pathlib.Path(path).write_bytes(self.__reduce__()[1][0])

    def inspect(self) -> dict:
        """The manifest, as ``sccl explain --contents --json`` prints it."""
        if self.path:
            return tool.run_json("explain", "--contents", self.path)[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plan.sccl"
            self.save(path)
            return tool.run_json("explain", "--contents", str(path))[0]

    def __reduce__(self) -> tuple:
        """Of copies and pickles: they load the same bytes."""
        data = pathlib.Path(self.path).read_bytes() if self.path else self.data
        return Plan, (data,)

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._library.scclPlanDestroy(handle)

    def __repr__(self) -> str:
        return f"<Plan {self.collective} on {self.topology}: {self.ranks} ranks>"
