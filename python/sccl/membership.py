# ===- membership.py - What libsccl knows of a rank -------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""libsccl's communicator, as long as something needs it."""
from __future__ import annotations

import collections
import ctypes as c
import gc
import threading
from typing import Any, Deque, List, Optional, Tuple

from . import _library
from ._library import check


class Handle(int):
    """The address of libsccl's communicator, which is destroyed with the last reference
    to this one, of a membership or of memory.

    The collector of cycles runs finalizers in any order, and others may still touch the
    memory: what it finds is destroyed when all have run.
    """

    __slots__ = ()
    #: libsccl's function; modules may be empty by the time of the last call.
    destroy: Any = None
    #: With `code`, the result of the last destruction by a thread.
    ended = threading.local()
    is_collecting = False
    #: Addresses that the collector has found.
    found: List[int] = []

    def __del__(self) -> None:
        if self.is_collecting:
            self.found.append(int(self))
        else:
            self.ended.code = self.destroy(int(self))

    @classmethod
    def collect(cls, phase: str, _: Any) -> None:
        """Called when the collector begins, and when it has ended."""
        cls.is_collecting = phase == "start"
        while cls.found and not cls.is_collecting:
            cls.destroy(cls.found.pop())


gc.callbacks.append(Handle.collect)


class Membership:
    """libsccl's communicator, and what it needs while it is there. It is left when
    nothing refers to it; memory of it stays while something refers to that."""

    #: Of launches that wait for their turn.
    MOST_WAITING = 64

    def __init__(self, callback: Any):
        self.handle: Optional[Handle] = None
        self._library, self._callback = _library.library(), callback
        self._launched: Deque[Tuple[int, Any]] = collections.deque()
        self._launching = threading.Lock()  # any thread may wait for a launch

    def join(self, made: c.c_void_p) -> None:
        """Takes what libsccl has made, which may be nothing."""
        if made.value:
            Handle.destroy = self._library.scclCommDestroy
            self.handle = Handle(made.value)

    def let_interrupt(self, failures: _library.Failures) -> None:
        """Has Ctrl-C end waits of the main thread, where Python runs handlers of
        signals: what they raise goes to `failures`."""
        if threading.current_thread() is threading.main_thread():
            self._interrupt = _library.interrupt_callback(failures)
            check(self._library.scclCommSetInterrupt(self.handle, self._interrupt, None))

    def keep(self, ticket: int, buffers: Any) -> None:
        """Keeps the buffers of a launch until it must have ended."""
        with self._launching:
            self._launched.append((ticket, buffers))
        self.forget(ticket - self.MOST_WAITING - 1)

    def forget(self, ticket: int) -> None:
        """Keeps no more buffers of this launch, which has ended, and those before it."""
        forgotten = []  # what goes with a buffer must not come to the lock
        with self._launching:
            while self._launched and self._launched[0][0] <= ticket:
                forgotten.append(self._launched.popleft())

    def memory_at(self, address: int, size: int) -> Any:
        """Memory of scclMemAlloc, which stays as long as it is referred to."""
        memory = (c.c_char * size).from_address(address)
        memory.handle = self.handle
        return memory

    def leave(self) -> int:
        """Ends the membership when its launches have ended; a second time it does
        nothing. Returns libsccl's code, 0 while there is memory."""
        handle, self.handle = self.handle, None
        if handle is None:
            return 0
        if self._launched:
            self._library.scclWait(handle, self._launched[-1][0])
        handle.ended.code = 0
        ended = handle.ended
        del handle
        self._launched.clear()
        return ended.code

    def __del__(self) -> None:
        self.leave()
