# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that go in an order that nobody would choose."""
import array
import copy
import gc
import os
import pickle
import sys
import threading
import time

import sccl


def floats(count, value=0.0):
    return array.array("f", [value]) * count


def bytes_of(memory):
    return memoryview(memory).cast("B")


plan = sccl.Plan(sccl.shelf.host_plan("all_reduce", 2))


def forgotten(comm):
    """Nobody but the communicator knows the buffers of launches under way."""
    comm.load(plan)
    count, results = 100000, [floats(100000) for _ in range(20)]
    for number, result in enumerate(results):
        comm.launch_async(plan, floats(count, number), result, count, "f32")
        floats(count, 7e7)  # likely where the last one was
    sent = floats(1)
    comm.launch_async(plan, sent, floats(1), 1, "f32").wait()
    assert sys.getrefcount(sent) == 2, "a launch that has ended keeps a buffer"
    return [result[0] == result[-1] == 2 * at for at, result in enumerate(results)]


assert sccl.run_threads(2, forgotten) == [[True] * 20] * 2
print("launches keep their buffers")


def resized(comm):
    """Whoever is waited for comes when the others have tried."""
    comm.load(plan)
    sent, result = bytearray(4 * 1000), bytearray(4 * 1000)
    pending = []
    refused = []
    if comm.rank == 0:
        pending = [comm.launch_async(plan, sent, result, 1000, "f32")]
        for buffer in sent, result:
            try:
                buffer.clear()
            except BufferError:
                refused.append(buffer)
        tried.set()
    else:
        tried.wait()
        comm.launch(plan, sent, result, 1000, "f32")
    for launch in pending:
        launch.wait()
    result.clear()  # nobody writes to it any more
    return len(refused)


tried = threading.Event()
assert sccl.run_threads(2, resized) == [2, 0]
print("buffers of launches keep their size")


def allocate(comm):
    memory = comm.empty(1000)
    bytes_of(memory)[:] = b"\1" * 4000
    return memory


memory = sccl.run_threads(2, allocate)[1]
assert bytes(bytes_of(memory)) == b"\1" * 4000
del memory
print("memory stays while it is used")


def tasks():
    gc.collect()
    return len(os.listdir("/proc/self/task"))


class Alone:
    rank, size = 0, 1

    def __call__(self, mine):
        return [mine]


before = tasks()
for _ in range(10):
    sccl.Communicator(Alone())
# The system forgets a thread a little after others can join it, those of `before` too.
for _ in range(1000):
    if tasks() <= before:
        break
    time.sleep(0.01)
assert tasks() <= before, (tasks(), before)
print("communicators that nobody has are destroyed")
copies = [copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))]
del plan
assert all(other.ranks == 2 and other.inspect() for other in copies)
print("copies of plans are plans")


class Owner:
    """Has a finalizer and is in a cycle, as everything is that a traceback knows."""

    def __init__(self, comm):
        self.comm, self.memory, self.plan = comm, comm.empty(1000), comm.plans[0]
        self.floats = floats(1000)
        bytes_of(self.memory)[:] = b"\1" * 4000
        comm.owner = comm._membership.owner = self.plan.owner = self

    def __del__(self):
        self.comm.destroy()
        self.comm.destroy()
        assert bytes(bytes_of(self.memory)) == b"\1" * 4000
        assert (self.plan.collective, self.plan.ranks) == ("all_reduce", 2)
        for call in (
            lambda: self.comm.launch_async(
                self.plan, self.floats, self.floats, 1000, "f32"
            ),
            lambda: self.comm.load(self.plan),
            self.comm.abort,
            self.comm.get_error,
            lambda: self.comm.empty(1),
        ):
            try:
                call()
            except sccl.InvalidArgument:
                finalized.append(1)


def own(gather):
    comm = sccl.Communicator(gather)
    comm.load(sccl.Plan(copies[0].data))
    owners.append(Owner(comm))


finalized, owners, unraised = [], [], []
sys.unraisablehook = unraised.append
threads = [threading.Thread(target=own, args=[end]) for end in sccl.ThreadGather.board(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
del thread, threads
owners.clear()
gc.collect()
assert not unraised, unraised
assert len(finalized) == 10, finalized
print("finalizers of a cycle run in any order")
del copies
# Python empties modules before it forgets the last objects.
last, problems = sccl.Plan(sccl.shelf.host_plan("all_reduce", 2)), []
sys.unraisablehook, kept = problems.append, sccl._library.library
sccl._library.library = None
del last
sccl._library.library = kept
assert not problems, problems
print("plans may be the last to go")
