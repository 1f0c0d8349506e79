# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Ctrl-C does to a rank that waits for another one, and to that."""
import array
import os
import signal
import threading
import time

import sccl
from sccl import shelf

LIMIT = 100.0


def interrupt_soon():
    """Of this process; signals of terminals come to all."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()


def launch(comm, data):
    comm.all_reduce(data)


def launch_async(comm, data):
    comm.launch_async(reducing, data, data, len(data), "f32").wait()


def wait_for_absent(wait):
    """The main thread waits as rank 0; rank 1 is another thread, which does not come."""
    board, data = sccl.ThreadGather.board(2), array.array("f", [1.0] * 8)
    result = []

    def late():
        comm = sccl.Communicator(board[1], timeout=LIMIT)
        comm.load(reducing)
        comm.all_reduce(array.array("f", [1.0] * 8))
        begin = time.monotonic()
        while not result and time.monotonic() - begin < LIMIT:
            try:
                comm.get_error()
                time.sleep(0.01)
            except sccl.Aborted as error:
                result.append(str(error))

    other = threading.Thread(target=late)
    other.start()
    comm = sccl.Communicator(board[0], timeout=LIMIT)
    comm.load(reducing)
    comm.all_reduce(data)
    begin = time.monotonic()
    interrupt_soon()
    try:
        wait(comm, data)
        text = "nothing is wrong"
    except BaseException as error:
        text = type(error).__name__
    soon = "soon" if time.monotonic() - begin < LIMIT / 2 else "late"
    other.join()
    print(f"{wait.__name__}: {text}, {soon}; the other: {result[0]}", flush=True)


# Who starts tests may have them ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
reducing = sccl.Plan(shelf.host_plan("all_reduce", 2))
wait_for_absent(launch)
wait_for_absent(launch_async)


def launch_beside(comm, data):
    """Another thread waits for the same launch, and is the first to learn how it ended."""
    pending = comm.launch_async(reducing, data, data, len(data), "f32")

    def wait():
        try:
            pending.wait()
        except BaseException as error:
            seen.append(type(error).__name__)

    def check_last(code):
        if threading.current_thread() is threading.main_thread():
            other.join()
        sccl.Communicator.check(comm, code)

    seen, other = [], threading.Thread(target=wait)
    comm.check = check_last
    other.start()
    try:
        pending.wait()
    finally:
        print(f"beside: {seen[0]}")


wait_for_absent(launch_beside)


def run_absent(comm):
    comm.load(reducing)
    if comm.rank == 0:
        absent.append(1)
        comm.all_reduce(array.array("f", [1.0] * 8))
    else:
        while not absent:
            time.sleep(0.01)
        interrupt_soon()
        comm.load(reducing)  # for which rank 0 does not come


absent = []
begin = time.monotonic()
try:
    sccl.run_threads(2, run_absent, timeout=LIMIT)
except KeyboardInterrupt:
    soon = "soon" if time.monotonic() - begin < LIMIT / 2 else "late"
    print(f"run_threads: KeyboardInterrupt, {soon}", flush=True)


class Stopped(Exception):
    pass


def stop(*_):
    raise Stopped


signal.signal(signal.SIGINT, stop)
wait_for_absent(launch)


# A handler that raises nothing runs, and the wait goes on.
def note(*_):
    noted.append(time.monotonic())


def launch_late():
    comm = sccl.Communicator(board[1], timeout=LIMIT)
    comm.load(reducing)
    while not noted:
        time.sleep(0.01)
    comm.all_reduce(array.array("f", [1.0] * 8))


noted = []
signal.signal(signal.SIGINT, note)
board, data = sccl.ThreadGather.board(2), array.array("f", [1.0] * 8)
other = threading.Thread(target=launch_late)
other.start()
comm = sccl.Communicator(board[0], timeout=LIMIT)
comm.load(reducing)
interrupt_soon()
comm.all_reduce(data)
other.join()
print(f"handled: {len(noted)}, {data[0]}")
