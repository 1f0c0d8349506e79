# ===- schedules.py - Schedules and their proofs ----------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Topologies, schedules, certificates and frontiers as objects."""
from __future__ import annotations

import dataclasses
import pathlib
import re
import tempfile
from fractions import Fraction
from typing import Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import tool
from ._library import Error
from .plans import Plan


class Refuted(Error):
    """There is no such schedule, and that is proved."""


class Undecided(Error):
    """Time or memory ran out before there was an answer."""


@dataclasses.dataclass(frozen=True)
class Topology:
    """Ranks, links, and limits that links share.

    ``links`` has the chunks per round of each (source, destination), None where only
    limits count; ``limits`` the links that share so many chunks per round.
    """

    name: str
    ranks: int
    links: Dict[Tuple[int, int], Optional[int]]
    limits: List[Tuple[List[Tuple[int, int]], int]]

    @staticmethod
    def parse(text: str) -> "Topology":
        """Reads the ``coll.topology`` in `text`.

        >>> ring = Topology.parse('''coll.topology @pair ranks = 2 {
        ...   coll.link 0 -> 1 bandwidth = 2
        ...   coll.link 1 -> 0
        ...   coll.limit [1 -> 0] bandwidth = 3
        ... }''')
        >>> ring.links
        {(0, 1): 2, (1, 0): None}
        >>> ring.limits
        [([(1, 0)], 3)]
        """
        head = re.search(r'coll\.topology @("[^"]*"|\S+) ranks = (\d+)', text)
        if not head:
            raise Error("there is no coll.topology")
        links = {
            (int(src), int(dst)): int(chunks) if chunks else None
            for src, dst, chunks in re.findall(
                r"coll\.link (\d+) -> (\d+)(?: bandwidth = (\d+))?", text
            )
        }
        limits = []
        for members, chunks in re.findall(
            r"coll\.limit \[([^\]]*)\] bandwidth = (\d+)", text
        ):
            pairs = re.findall(r"(\d+) -> (\d+)", members)
            limits.append(([(int(a), int(b)) for a, b in pairs], int(chunks)))
        return Topology(head[1].strip('"'), int(head[2]), links, limits)


@dataclasses.dataclass(frozen=True)
class Transfer:
    """Chunks that go over a link; ``reduces`` if the receiver adds them to its own."""

    chunks: Tuple[int, ...]
    src: int
    dst: int
    reduces: bool


@dataclasses.dataclass(frozen=True)
class Step:
    """Transfers that do not see each other's results, in so many rounds."""

    rounds: int
    transfers: List[Transfer]


def _chunks(text: str) -> Tuple[int, ...]:
    """The chunks that a transfer names.

    >>> _chunks("0, 4 to 6, 8 to 12 by 2")
    (0, 4, 5, 6, 8, 10, 12)
    """
    chunks: List[int] = []
    for first, last, stride in re.findall(r"(\d+)(?: to (\d+)(?: by (\d+))?)?", text):
        chunks += range(int(first), int(last or first) + 1, int(stride or 1))
    return tuple(chunks)


class Certificate:
    """A proof that no schedule of so many steps is better, as text."""

    def __init__(self, text: str):
        self.text = text

    @property
    def claim(self) -> str:
        """What it proves, in one sentence."""
        return self.text.splitlines()[1]

    def __repr__(self) -> str:
        return f"<Certificate: {self.claim}>"


class Schedule:
    """A schedule in the text of the ``coll`` dialect.

    >>> from sccl import Machine
    >>> gather = Machine("ring:3").synthesize("all_gather", chunks=1, steps=1, rounds=1)
    >>> gather
    <Schedule all_gather on ring_3: C = 1, S = 1, R = 1>
    >>> gather.steps[0].transfers[0]
    Transfer(chunks=(0,), src=0, dst=1, reduces=False)
    >>> gather.check()["status"]
    'accepted'
    """

    def __init__(self, text: str):
        self.text = text
        head = re.search(
            r'coll\.schedule @("[^"]*"|\S+) of (\S+) on @("[^"]*"|\S+) chunks = (\d+)'
            r"(?: root = (\d+))?",
            text,
        )
        if not head:
            raise Error("there is no coll.schedule in this text")
        self.name, self.collective, chunks = head[1], head[2].lstrip("@"), head[4]
        self.chunks = int(chunks)
        self.root = int(head[5]) if head[5] else None
        found = re.search(r'certificate = "((?:[^"\\]|\\.)*)"', text)
        self.certificate: Optional[Certificate] = None
        if found:
            self.certificate = Certificate(found[1].replace(r"\0A", "\n"))

    @staticmethod
    def load(path: Union[str, pathlib.Path]) -> "Schedule":
        """Reads an .mlir file with one schedule."""
        return Schedule(pathlib.Path(path).read_text())

    def save(self, path: Union[str, pathlib.Path]) -> None:
        pathlib.Path(path).write_text(self.text)

    @property
    def topology(self) -> Topology:
        return Topology.parse(self.text)

    @property
    def steps(self) -> List[Step]:
        """The steps, each with its transfers."""
        steps: List[Step] = []
        for line in self.text.splitlines():
            step = re.match(r"\s*coll\.step rounds = (\d+)", line)
            if step:
                steps.append(Step(int(step[1]), []))
            move = re.match(r"\s*coll\.(send|reduce) (.*) over (\d+) -> (\d+)", line)
            if move:
                steps[-1].transfers.append(
                    Transfer(
                        _chunks(move[2]), int(move[3]), int(move[4]), move[1] == "reduce"
                    )
                )
        return steps

    @property
    def rounds(self) -> int:
        """R, of all steps together."""
        return sum(step.rounds for step in self.steps)

    def check(self) -> dict:
        """What the checker says, which knows no solver; raises Error if it refuses.

        It verifies the certificate, too, if there is one.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "schedule.mlir"
            self.save(path)
            words = ["check", str(path)]
            if self.certificate:
                proof = pathlib.Path(folder) / "schedule.cert"
                proof.write_text(self.certificate.text)
                words.append(f"--certificate={proof}")
            results = tool.run_json(*words)
        return {key: value for found in reversed(results) for key, value in found.items()}

    def cost(self, sizes: Sequence[int], alpha: float, bandwidth: float) -> List[float]:
        """Microseconds of the cost model S·α + (R/C)·L·β for send buffers of `sizes`
        bytes; `alpha` in microseconds, `bandwidth` in GB/s."""
        ratio = Fraction(self.rounds, self.chunks)
        steps = len(self.steps)
        return [
            steps * alpha + float(ratio) * size / (bandwidth * 1e3) for size in sizes
        ]

    def compile(
        self,
        targets: Sequence[str] = ("host",),
        elements: Sequence[str] = (),
        reductions: Sequence[str] = (),
        **options: tool.Option,
    ) -> Plan:
        """A plan with code for `targets` ("host", "sm_90", "gfx942").

        Other options are those of ``sccl compile``: ``alpha=1.0``, ``variant=["push"]``.
        """
        return Plan.compile([self], targets, elements, reductions, **options)

    def __repr__(self) -> str:
        steps = self.steps
        return (
            f"<Schedule {self.collective} on {self.topology.name}: C = {self.chunks}, "
            f"S = {len(steps)}, R = {self.rounds}>"
        )


@dataclasses.dataclass(frozen=True)
class Point:
    """A point of a frontier: S steps, and the least R/C that is known for them."""

    chunks: int
    steps: int
    rounds: int
    cost: Fraction  #: R/C
    lower_bound: Optional[Fraction]  #: what is proved about all schedules of S steps
    status: str  #: "optimal", or what is known
    engine: str
    schedule: Schedule

    @property
    def is_optimal(self) -> bool:
        """True if a certificate proves that no schedule of S steps is better."""
        return self.status == "optimal"


class Frontier(Sequence[Point]):
    """The trade-offs of a collective on a machine, by steps."""

    def __init__(self, summary: dict, points: List[Point]):
        self.summary = summary
        self.points = points

    @property
    def complete(self) -> bool:
        """True if every point is optimal and the last meets the bandwidth bound."""
        return self.summary["frontier"] == "complete"

    @property
    def bandwidth_bound(self) -> Fraction:
        """The R/C that no schedule has less of, with any number of steps."""
        return Fraction(self.summary["bandwidth_bound"])

    @property
    def reason(self) -> str:
        """Why it is complete, or is not."""
        return self.summary["reason"]

    def best(self, size: int, alpha: float, bandwidth: float) -> Point:
        """The point that takes least in the cost model for a send buffer of `size`
        bytes; `alpha` in microseconds, `bandwidth` in GB/s."""
        if not self.points:
            raise Undecided(f"the frontier has no points: {self.reason}")
        return min(
            self.points, key=lambda p: p.schedule.cost([size], alpha, bandwidth)[0]
        )

    def __getitem__(self, key):
        return self.points[key]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __repr__(self) -> str:
        state = "complete" if self.complete else "incomplete"
        points = ", ".join(f"({point.steps}, {point.cost})" for point in self.points)
        return f"<Frontier, {state}: {points}>"
