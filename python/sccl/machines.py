# ===- machines.py - What schedules are for ---------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Machines: built in, from files of other tools, or as text."""
from __future__ import annotations

import pathlib
import tempfile
from fractions import Fraction
from typing import List, Optional, Sequence, Union

from . import tool
from ._library import Error, InvalidArgument
from .schedules import Frontier, Point, Refuted, Schedule, Topology, Undecided


class Machine:
    """A machine or topology: a name that ``sccl machine`` lists, or an .mlir file.

    >>> Machine("dgx1").topology.ranks
    8
    >>> Machine("h100:boxes=2").topology.ranks
    16
    >>> Machine("dgx7")
    Traceback (most recent call last):
    ...
    sccl.Error: unknown topology 'dgx7'; known: dgx1, ...
    """

    def __init__(self, spec: Union[str, pathlib.Path]):
        self.spec = str(spec)
        if not self.spec or self.spec.startswith("-"):
            raise InvalidArgument(f"{self.spec!r} is the name of no machine")
        self._folder: Optional[tempfile.TemporaryDirectory] = None
        _, self.text = tool.run("machine", self.spec, "--as-topology")

    @staticmethod
    def from_text(text: str) -> "Machine":
        """A machine or topology in the ``coll`` dialect."""
        folder = tempfile.TemporaryDirectory(prefix="sccl-")
        path = pathlib.Path(folder.name) / "machine.mlir"
        path.write_text(text)
        machine = Machine(path)
        machine._folder = folder  # keeps the file
        return machine

    @staticmethod
    def imported(
        files: Union[str, pathlib.Path, Sequence[str]], **options: tool.Option
    ) -> "Machine":
        """What other tools print of a machine, as ``nvidia-smi topo -m`` does.

        `options` are those of ``sccl machine --import``: ``boxes=4, nic_gbps=400``.
        """
        if isinstance(files, (str, pathlib.Path)):
            files = [str(files)]
        words = tool.arguments(options)
        _, text = tool.run("machine", "--import=" + ",".join(files), *words)
        return Machine.from_text(text)

    @property
    def topology(self) -> Topology:
        """Ranks, links and limits."""
        return Topology.parse(self.text)

    def _flag(self) -> str:
        return f"--machine={self.spec}"

    def frontier(
        self,
        collective: str,
        root: Optional[int] = None,
        max_steps: Optional[int] = None,
        **options: tool.Option,
    ) -> Frontier:
        """Every trade-off of steps and bandwidth, each point with its schedule.

        Other options are those of ``sccl pareto``: ``max_chunks=24``, ``timeout=60``.
        """
        words = tool.arguments({"root": root, "max_steps": max_steps, **options})
        with tempfile.TemporaryDirectory() as folder:
            results = tool.run_json(
                "pareto",
                self._flag(),
                f"--collective={collective}",
                f"-o={folder}",
                *words,
                allowed=(0, 3),
            )
            if "frontier" not in results[-1]:
                raise Undecided(results[-1].get("reason", "nothing was found"))
            points = [
                _point(result, pathlib.Path(folder))
                for result in results[:-1]
                if result.get("steps") and result.get("cost")
            ]
        return Frontier(results[-1], points)

    def synthesize(
        self,
        collective: str,
        chunks: int,
        steps: int,
        rounds: int,
        root: Optional[int] = None,
        **options: tool.Option,
    ) -> Schedule:
        """The schedule with this C, S and R.

        Raises Refuted if there is none, with the reason, and Undecided if time or
        memory ran out. Other options are those of ``sccl synth``.

        >>> Machine("ring:8").synthesize("all_gather", chunks=1, steps=2, rounds=2)
        Traceback (most recent call last):
        ...
        sccl.Refuted: chunk 0 needs 3 steps to reach rank 3, S is 2
        """
        if min(chunks, steps, rounds) < 1:
            raise InvalidArgument("chunks, steps and rounds are at least 1")
        words = tool.arguments({"root": root, **options})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "schedule.mlir"
            result = tool.run_json(
                "synth",
                self._flag(),
                f"--collective={collective}",
                f"--chunks={chunks}",
                f"--steps={steps}",
                f"--rounds={rounds}",
                f"-o={path}",
                *words,
                allowed=(0, 2, 3),
            )[-1]
            if result["status"] == "satisfiable":
                return Schedule.load(path)
        reason = result.get("reason") or result.get("claim") or result["status"]
        raise (Refuted if result["status"] == "unsatisfiable" else Undecided)(reason)

    def __repr__(self) -> str:
        return f"<Machine {self.topology.name}: {self.topology.ranks} ranks>"


def _point(result: dict, folder: pathlib.Path) -> Point:
    root = "" if result["root"] is None else f"_root{result['root']}"
    name = f"{result['collective']}{root}_c{result['chunks']}_s{result['steps']}"
    path = folder / f"{name}_r{result['rounds']}.mlir"
    if not path.exists():
        found: List[str] = sorted(file.name for file in folder.glob("*.mlir"))
        raise Error(f"sccl pareto wrote no {path.name}, but {', '.join(found)}")
    bound = result.get("lower_bound")
    return Point(
        result["chunks"],
        result["steps"],
        result["rounds"],
        Fraction(result["cost"]),
        Fraction(bound) if bound else None,
        result["status"],
        result["engine"],
        Schedule.load(path),
    )
