# ===- work.py - Collectives that are under way -----------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Work objects: what asynchronous collectives return."""
from __future__ import annotations

import queue
import threading
from typing import Any, Callable, List, Optional

import torch
from torch._C._distributed_c10d import Work, _create_work_from_future

BackendError = getattr(torch.distributed, "DistBackendError", RuntimeError)


class DoneWork(Work):
    """A collective that has ended."""

    def __init__(self, tensors: List[torch.Tensor], device: Any = None):
        super().__init__()
        self._tensors, self._device = tensors, device

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    def synchronize(self) -> None:
        pass

    def result(self) -> List[torch.Tensor]:
        return self._tensors

    def native(self) -> Work:
        return _create_work_from_future(self.get_future())

    def get_future(self) -> torch.futures.Future:
        # On a GPU the future remembers the streams of the tensors.
        devices = [self._device] if self._device is not None else None
        future = torch.futures.Future(devices=devices)
        future.set_result(self._tensors)
        return future


class Completer:
    """A thread that ends works in their order, and so completes their futures. What these
    call back may wait for later works: if it adds some, another thread goes on."""

    def __init__(self) -> None:
        self._works: "queue.SimpleQueue[Optional[PendingWork]]" = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def add(self, work: "PendingWork") -> None:
        self._works.put(work)
        if self._thread in (None, threading.current_thread()):
            with self._starting:
                if self._thread in (None, threading.current_thread()):
                    self._thread = threading.Thread(
                        target=self._main, name="sccl-futures", daemon=True
                    )
                    self._thread.start()

    def _main(self) -> None:
        own = threading.current_thread()
        while self._thread is own:
            work = self._works.get()
            if work is None:
                return
            work.end()
            del work  # with its tensors and its group, while there is no other

    def stop(self) -> None:
        """Returns when all works that were added have ended."""
        if self._thread is not None:
            self._works.put(None)
        while self._thread not in (None, threading.current_thread()):
            thread = self._thread
            thread.join()
            if self._thread is thread:
                self._thread = None


class PendingWork(Work):
    """A collective that a thread of libsccl executes.

    `await_end` returns when it has ended, or raises what went wrong; `finish` is what
    is left to do then, such as copies into the tensors of a list.
    """

    def __init__(
        self,
        await_end: Callable[[], None],
        tensors: List[torch.Tensor],
        completer: Completer,
        finish: Optional[Callable[[], None]] = None,
    ):
        super().__init__()
        self._await_end: Optional[Callable[[], None]] = await_end
        self._finish = finish
        self._tensors, self._completer = tensors, completer
        self._ending = threading.Lock()  # held while it ends
        self._state = threading.Lock()  # held for moments
        self._over = False
        self._error: Optional[BaseException] = None
        self._ended: Optional[threading.Event] = None
        self._future: Optional[torch.futures.Future] = None

    def end(self) -> None:
        """Returns when it has ended, well or not."""
        with self._ending:
            if self._over:
                return
            try:
                self._await_end()
                if self._finish:
                    self._finish()
            except Exception as error:
                self._error = error
            # They know the group, which whoever keeps the work need not.
            self._await_end = self._finish = None
            with self._state:
                self._over = True
                future = self._future
        if self._ended is not None:
            self._ended.set()
        if future is not None:
            self._complete(future)

    def _complete(self, future: torch.futures.Future) -> None:
        if self._error is None:
            future.set_result(self._tensors)
        else:
            future.set_exception(self._error)

    def wait(self, timeout: Any = None) -> bool:
        """Raises what went wrong, or after `timeout`, a timedelta, that time is up."""
        seconds = timeout.total_seconds() if timeout else 0
        if seconds > 0 and not self._over:
            self._watch()
            if not self._ended.wait(seconds):
                raise BackendError(f"sccl: not done after {seconds} s")
        self.end()
        if self._error is not None:
            raise self._error
        return True

    def _watch(self) -> None:
        """Has the completer end it."""
        if self._ended is None:
            self._ended = threading.Event()
            self._completer.add(self)
            if self._over:
                self._ended.set()

    def is_completed(self) -> bool:
        if not self._over:
            self._watch()
        return self._over

    def is_success(self) -> bool:
        return self._over and self._error is None

    def exception(self) -> Optional[BaseException]:
        return self._error

    def synchronize(self) -> None:
        self.wait()

    def result(self) -> List[torch.Tensor]:
        return self._tensors

    def get_future(self) -> torch.futures.Future:
        with self._state:
            if self._future is not None:
                return self._future
            future = self._future = torch.futures.Future()
            over = self._over
        if over:
            self._complete(future)
        else:
            self._watch()
        return future

    def native(self) -> Work:
        """The same for callers in C++. These know no Python object: a work that is one
        loses its methods when Python forgets it, and then never ends."""

        def result(_: torch.futures.Future) -> List[torch.Tensor]:
            if self._error is not None:
                raise self._error
            return self._tensors

        # An exception that Python sets is a value in C++; what a callback raises is not.
        return _create_work_from_future(self.get_future().then(result))
