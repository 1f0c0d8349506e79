# ===- store.py - Waiting for ranks that may never come ---------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""A store of torch whose readers notice that a process has ended."""
from __future__ import annotations

import os
import pathlib
import time
from typing import Any, Callable, List, Optional

from .._library import Error, RankLost, Timeout

_LEAST_SECONDS, _MOST_SECONDS = 100e-6, 20e-3
#: torch's TCPStore closes the connection of who sets a value of more than 8 MiB.
_PIECE_BYTES = 4 << 20


def _start_of(pid: str) -> Optional[str]:
    """When a process has begun, as text; None if it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _name_of_process() -> str:
    """Tells this process from all others: its number, when it began, and where numbers
    mean the same processes."""
    try:
        space = os.readlink("/proc/self/ns/pid")
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    pid = str(os.getpid())
    return f"{pid} {_start_of(pid)} {boot}/{space}"


class WatchedStore:
    """A store whose ``get`` waits for no process that has ended, and no longer than
    `timeout` seconds: torch's own would wait for half an hour.

    All ranks make one, with a store that is theirs alone.
    """

    def __init__(self, rank: int, size: int, store: Any, timeout: float):
        self._rank, self._size, self._store = rank, size, store
        self._timeout = timeout
        self._processes: List[str] = [""] * size
        self._processes[rank] = _name_of_process()
        self.set(f"process/{rank}", self._processes[rank])

    def _call(self, function: Callable[..., Any], *words: Any) -> Any:
        try:
            return function(*words)
        except RuntimeError as error:  # as where the process with the store has gone
            self._check_processes()
            raise Error(f"the store of the group fails: {error}") from None

    def set(self, key: str, value: Any) -> None:
        """In pieces, of which the last one is shorter."""
        data = value.encode() if isinstance(value, str) else bytes(value)
        for number, at in enumerate(range(0, len(data) + 1, _PIECE_BYTES)):
            piece = data[at : at + _PIECE_BYTES]
            self._call(self._store.set, f"{key}/{number}", piece)
        self._call(self._store.add, f"{key}/there", 1)

    def _has(self, key: str) -> bool:
        return self._call(self._store.add, f"{key}/there", 0) > 0

    def _value(self, key: str) -> bytes:
        data, number = b"", 0
        while len(data) == number * _PIECE_BYTES:
            piece = self._call(self._store.get, f"{key}/{number}")
            data += piece.encode() if isinstance(piece, str) else bytes(piece)
            number += 1
        return data

    def get(self, key: str) -> bytes:
        """The value of a key that some rank sets. Raises RankLost if the process of a
        rank has ended, and Timeout."""
        begin, pause = time.monotonic(), _LEAST_SECONDS
        while not self._has(key):
            if pause >= _MOST_SECONDS:
                self.learn_processes()
                self._check_processes()
            if time.monotonic() - begin > self._timeout:
                raise Timeout(
                    f"a rank has not come within {self._timeout:g} s; all ranks must "
                    "make the same calls, for elements of the same type"
                )
            time.sleep(pause)
            pause = min(2 * pause, _MOST_SECONDS)
        return self._value(key)

    def learn_processes(self) -> None:
        """Asks who the ranks are that have made one, to notice later that they ended."""
        for rank in range(self._size):
            key = f"process/{rank}"
            if not self._processes[rank] and self._has(key):
                self._processes[rank] = self._value(key).decode() or "? ?"

    def _check_processes(self) -> None:
        here = self._processes[self._rank].split()[2:]
        for rank, name in enumerate(self._processes):
            pid, start, *place = name.split() or ["", ""]
            if place and place == here and _start_of(pid) != start:
                raise RankLost(f"the process of rank {rank} has ended")
