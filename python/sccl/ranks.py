# ===- ranks.py - How ranks find each other ---------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""All-gathers with which ranks find each other, and ranks as threads."""
from __future__ import annotations

import concurrent.futures
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Protocol

from ._library import InvalidArgument, Timeout

if TYPE_CHECKING:
    from .communicator import Communicator


class Gather(Protocol):
    """Exchanges a few bytes with the other ranks, while communicators are made."""

    rank: int
    size: int

    def __call__(self, mine: bytes) -> List[bytes]:
        """What all ranks have passed, by rank. They pass equally many bytes."""
        ...


class ThreadGather:
    """Of ranks that are threads of this process. With a `timeout`, in seconds, a rank waits
    no longer for the others.

    >>> board = ThreadGather.board(2)
    >>> with concurrent.futures.ThreadPoolExecutor(2) as pool:
    ...     list(pool.map(lambda gather: gather(b"%d" % gather.rank), board))
    [[b'0', b'1'], [b'0', b'1']]
    """

    def __init__(self, rank: int, parts: List[bytes], meeting: threading.Barrier):
        self.rank, self.size = rank, len(parts)
        self._parts, self._meeting = parts, meeting

    @staticmethod
    def board(size: int, timeout: Optional[float] = None) -> List["ThreadGather"]:
        """One for each of `size` ranks."""
        parts, meeting = [b""] * size, threading.Barrier(size, timeout=timeout)
        return [ThreadGather(rank, parts, meeting) for rank in range(size)]

    def __call__(self, mine: bytes) -> List[bytes]:
        self._parts[self.rank] = mine
        self._meet()
        parts = list(self._parts)
        self._meet()
        return parts

    def _meet(self) -> None:
        try:
            self._meeting.wait()
        except threading.BrokenBarrierError:
            raise Timeout("a rank has not come in time, or has failed", 8) from None

    def abort(self) -> None:
        """Has the ranks that wait fail."""
        self._meeting.abort()


class StoreGather:
    """Of processes with a store, which has ``set(key, value)`` and ``get(key)``, and
    whose ``get`` waits, as torch's stores have."""

    def __init__(self, rank: int, size: int, store: Any, prefix: str = "sccl"):
        self.rank, self.size = rank, size
        self._store, self._prefix, self._calls = store, prefix, 0

    def __call__(self, mine: bytes) -> List[bytes]:
        self._calls += 1
        key = f"{self._prefix}/{self._calls}"
        # As text: some stores take nothing else.
        self._store.set(f"{key}/{self.rank}", mine.hex())
        return [
            mine
            if rank == self.rank
            else bytes.fromhex(bytes(self._store.get(f"{key}/{rank}")).decode())
            for rank in range(self.size)
        ]


def run_threads(
    size: int, main: Callable[["Communicator"], Any], **config: Any
) -> List[Any]:
    """Calls `main` with the communicator of each of `size` ranks, in threads, and
    returns what the calls return. `config` goes to Communicator.

    Raises what the first rank that failed has raised. Ctrl-C ends waits for other ranks.

    >>> run_threads(3, lambda comm: (comm.rank, comm.size))
    [(0, 3), (1, 3), (2, 3)]
    """
    from .communicator import Communicator

    if size < 1:
        raise InvalidArgument(f"{size} ranks, expected at least 1")
    timeout = config.get("timeout", 30.0)
    # libsccl refuses one that is no time, when all ranks have met.
    limit = min(timeout, threading.TIMEOUT_MAX) if timeout > 0 else None
    board = ThreadGather.board(size, limit)
    first: List[BaseException] = []
    there: List[Communicator] = []
    leaving = threading.Lock()  # no thread may use a communicator that is destroyed

    def rank_main(gather: ThreadGather) -> Any:
        comm = None
        try:
            comm = Communicator(gather, **config)
            there.append(comm)
            return main(comm)
        except BaseException as error:
            first.append(error)
            gather.abort()
            if comm:
                comm.abort()
            raise
        finally:
            if comm:
                with leaving:
                    there.remove(comm)
                comm.destroy()

    def give_up() -> None:
        for gather in board:
            gather.abort()
        with leaving:
            for comm in there:
                if comm.handle:
                    comm.abort()

    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(rank_main, gather) for gather in board]
        try:
            concurrent.futures.wait(futures)
        except BaseException:  # as of Ctrl-C: the pool waits for the ranks
            give_up()
            raise
    if first:
        raise first[0]
    return [future.result() for future in futures]
