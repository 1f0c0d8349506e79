# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the package refuses, one line each: NAME: CLASS: CAUSE."""
import array
import copy

import sccl
from sccl import shelf


def tell(name, call):
    try:
        call()
    except Exception as error:
        cause = str(error).splitlines()[0]
        print(f"{name}: {type(error).__name__}: {cause}", flush=True)
    else:
        print(f"{name}: nothing is wrong")


def with_ranks(call, ranks=2, **config):
    """Calls it on rank 0, which then gives up, if it has not."""

    def main(comm):
        comm.load(reducing)
        comm.load(gathering)
        return call(comm) if comm.rank == 0 else None

    return lambda: sccl.run_threads(ranks, main, **config)


def floats(count):
    return array.array("f", [1.0] * count)


reducing = sccl.Plan(shelf.host_plan("all_reduce", 2))
gathering = sccl.Plan(shelf.host_plan("all_gather", 2))
strided = memoryview(floats(8))[::2]
tell("list", with_ranks(lambda comm: comm.all_reduce([1.0])))
tell("read-only", with_ranks(lambda comm: comm.all_reduce(b"1234", type="f32")))
tell("stride", with_ranks(lambda comm: comm.all_reduce(strided)))
tell("lengths", with_ranks(lambda comm: comm.all_gather(floats(2), floats(6))))
tell("odd", with_ranks(lambda comm: comm.all_gather(floats(2), floats(5))))
doubles = array.array("d", [1.0])
tell("types", with_ranks(lambda comm: comm.all_reduce(floats(1), doubles)))
tell("op", with_ranks(lambda comm: comm.all_reduce(floats(1), op="xor")))
truth = memoryview(bytearray(4)).cast("?")
tell("bool", with_ranks(lambda comm: comm.all_reduce(truth, op="avg")))
tell("unknown", with_ranks(lambda comm: comm.all_reduce(array.array("h", [1]))))
four = floats(4)
tell("short", with_ranks(lambda comm: comm.launch(reducing, four, four, 4000, "f32")))
negative = lambda comm: comm.launch(reducing, four, four, -4, "f32")
tell("negative", with_ranks(negative))
fraction = lambda comm: comm.launch(reducing, four, four, 4.0, "f32")
tell("fraction", with_ranks(fraction))
tell("memory", with_ranks(lambda comm: comm.empty(-1)))
tell("huge", with_ranks(lambda comm: comm.empty(1 << 61, "f64")))
tell("color", with_ranks(lambda comm: comm.split(1 << 32)))
tell("scratch", with_ranks(lambda comm: None, scratch_bytes=-1))
tell("budget", with_ranks(lambda comm: None, sm_budget=-1))
tell("root", with_ranks(lambda comm: comm.broadcast(floats(1), root=1 << 40)))
tell("unplanned", with_ranks(lambda comm: comm.broadcast(floats(1))))
tell("element", with_ranks(lambda comm: comm.all_reduce(doubles)))
tell("ranks", with_ranks(lambda comm: None, ranks=3))


def refuse_alone(comm):
    comm.load(reducing)
    try:
        comm.all_reduce([1.0] if comm.rank == 0 else floats(1))
    except sccl.InvalidArgument:
        pass


tell("one rank", lambda: sccl.run_threads(2, refuse_alone))
tell("garbage", lambda: sccl.Plan(b"garbage" * 100))


class Broken:
    rank, size = 0, 2

    def __call__(self, mine):
        return 1 / 0


class Long(Broken):
    def __call__(self, mine):
        return [mine] * 3


tell("gather", lambda: sccl.Communicator(Broken()))
tell("long gather", lambda: sccl.Communicator(Long()))


def abandon(comm):
    comm.load(reducing)
    if comm.rank == 1:
        comm.abort()
    comm.all_reduce(floats(1))


tell("lost", lambda: sccl.run_threads(2, abandon))


def wait(comm):
    comm.load(reducing)
    if comm.rank == 0:
        comm.all_reduce(floats(1))


tell("late", lambda: sccl.run_threads(2, wait, timeout=0.2))
alone = lambda comm: comm.empty(4) if comm.rank == 0 else None
tell("alone", lambda: sccl.run_threads(2, alone, timeout=0.2))
tell("machine", lambda: sccl.Machine("dgx7"))
tell("nameless", lambda: sccl.Machine(""))
tell("option", lambda: sccl.Machine("--help"))
ring = sccl.Machine("ring:8")
tell("refuted", lambda: ring.synthesize("all_gather", chunks=1, steps=1, rounds=1))
few = ring.frontier("all_gather", max_steps=1)
tell("best", lambda: few.best(1024, alpha=1, bandwidth=1))
tell("nothing", lambda: sccl.Plan.compile([]))
tell("copy", with_ranks(copy.copy))
