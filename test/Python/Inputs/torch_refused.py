# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the backend refuses, and how ranks that are left behind end."""
import datetime
import os
import signal
import sys
import threading
from unittest import mock

import torch
import torch.distributed as dist
from torch_ranks import start_each


def tell(rank, name, call, ranks=(0,)):
    try:
        call()
        text = "nothing is wrong"
    except Exception as error:
        text = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if rank in ranks:
        print(f"{name}: {text}", flush=True)


def await_all(rank, size):
    """Returns when no rank is in a call any more, where it would learn of a later one."""
    store = dist.distributed_c10d._get_default_store()
    store.set(f"ready {rank}", "")
    for other in range(size):
        store.get(f"ready {other}")


def bad_tensors(rank, size):
    tell(rank, "list", lambda: dist.all_gather([torch.ones(2)], torch.ones(2)))
    small = torch.ones(3)
    tell(rank, "multiple", lambda: dist.all_gather_into_tensor(torch.ones(4), small))
    mixed = torch.ones(2, dtype=torch.float64), torch.ones(1)
    tell(rank, "mixed", lambda: dist.all_gather_into_tensor(*mixed))
    meta = torch.ones(2, device="meta")
    two = torch.ones(1), torch.ones(2)
    tell(rank, "apart", lambda: dist.all_gather_into_tensor(meta, two[0]))
    tell(rank, "across", lambda: dist.all_to_all_single(meta, two[1]))
    odd = torch.ones(3)
    tell(rank, "odd", lambda: dist.all_to_all_single(torch.ones(3), odd))
    tell(rank, "device", lambda: dist.all_reduce(meta))
    after = torch.ones(1)
    dist.all_reduce(after)
    assert after.item() == size
    long = torch.ones((1 << 20) * (rank + 1))
    tell(rank, "lengths", lambda: dist.all_reduce(long), ranks=(0, 1))


def death(rank, size):
    """A process dies in the middle of a step."""
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1000, 1000))
    net(torch.ones(1, 1000)).sum().backward()

    def step():
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        net(torch.ones(1, 1000)).sum().backward()

    tell(rank, "death", step)
    os._exit(0)  # the group is out of use


def early_death(rank, size):
    """A process dies before the first call of its kind, for which ranks meet."""
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    tell(rank, "early", lambda: dist.all_reduce(torch.ones(1)))
    tell(rank, "again", lambda: dist.all_reduce(torch.ones(1)))
    os._exit(0)


def first_calls(rank, size):
    """Ranks whose first calls differ: none waits, and all go on in step, but where some
    are in a launch already."""
    tell(rank, "root", lambda: dist.broadcast(torch.ones(1), -1))
    two, is_first = torch.ones(2), rank == 0
    kinds = [torch.int32, torch.float32], [torch.int64, torch.float64]
    first, later = (torch.ones(2, dtype=pair[rank]) for pair in kinds)
    op = dist.ReduceOp.SUM if is_first else dist.ReduceOp.MAX

    def behind():
        dist.all_reduce(two.to_sparse() if is_first else two)

    for name, call in {
        "types": lambda: dist.all_reduce(first),
        "ops": lambda: dist.all_reduce(two, op),
        "roots": lambda: dist.reduce(two, rank),
        "collectives": lambda: dist.barrier() if is_first else dist.all_reduce(two),
        "behind": behind,
        "later": lambda: dist.all_reduce(later, async_op=True).wait(),
    }.items():
        tell(rank, name, call, ranks=(1,))

    def in_step():
        dist.all_reduce(two)
        assert two.tolist() == [size] * 2, two

    tell(rank, "in step", in_step, ranks=(1,))
    if dist.distributed_c10d._get_default_group()._cpu.covered:
        warm = two if is_first else torch.ones(2, dtype=torch.uint8)
        tell(rank, "warm", lambda: dist.all_reduce(warm), ranks=(1,))
    os._exit(0)


def refused_alone(rank, size):
    """One rank refuses a call that the others make."""
    one = torch.ones(1)
    for name in "cold", "warm":
        group = dist.new_group(backend="sccl")
        parts = [torch.ones(1) for _ in range(size)]
        if name == "warm":
            dist.all_gather(parts, one, group=group)
        parts = parts[rank == 0 :]
        tell(rank, name, lambda: dist.all_gather(parts, one, group=group), ranks=(1,))
    dist.barrier()
    os._exit(0)


def types_of_bytes(rank, size):
    """Types that plans move as the same bytes."""
    for other in torch.bool, torch.int16:
        group = dist.new_group(backend="sccl")
        data = torch.ones(2, dtype=torch.uint8)
        dist.broadcast(data, 0, group=group)
        if rank == 0:
            data = data[: 2 // torch.ones(1, dtype=other).element_size()].to(other)
        tell(rank, "bytes", lambda: dist.broadcast(data, 0, group=group), ranks=(1,))
    dist.barrier()
    os._exit(0)


def warm_types(rank, size):
    """Types of one width, of which all have been called: by plans, or by gloo."""
    pairs = [torch.int32, torch.float32], [torch.uint8, torch.int8]
    for pair in [*pairs, [torch.float16, torch.bfloat16]]:
        group = dist.new_group(backend="sccl")
        warm = [torch.ones(4, dtype=kind) for kind in pair]
        try:
            for later in False, True:
                calls = [
                    lambda data: dist.all_reduce(data, group=group, async_op=later),
                    lambda data: dist.broadcast(data, 0, group=group, async_op=later),
                ]
                for call in calls:
                    for data in warm:
                        work = call(data)
                        if later:
                            work.wait()
        except RuntimeError as error:  # gloo of torch 1.13
            assert "scalar type" in str(error), error
            continue
        data = warm[rank]
        tell(rank, "sum", lambda: dist.all_reduce(data, group=group), (0, 1))
        if group._cpu.covered:
            continue  # the communicator is out of use
        tell(rank, "root", lambda: dist.broadcast(data, 0, group=group), (1,))
        later = [dist.broadcast(data, 0, group=group, async_op=True)]
        tell(rank, "later", lambda: later[0].wait(), (1,))
        dist.all_reduce(torch.ones(1), group=group)
    dist.barrier()
    os._exit(0)


def small_lengths(rank, size):
    """Few elements, which ranks add up without comparing how many there are."""
    dist.all_reduce(torch.ones(1))
    await_all(rank, size)
    few = torch.ones(4 if rank == 0 else 5)
    tell(rank, "few", lambda: dist.all_reduce(few), ranks=(1,))
    os._exit(0)


def other_reductions(rank, size):
    """Which rank tells first depends on which one is done first."""
    dist.all_reduce(torch.ones(1))
    dist.all_reduce(torch.ones(1), dist.ReduceOp.MAX)
    op = dist.ReduceOp.SUM if rank == 0 else dist.ReduceOp.MAX

    def until_it_fails():
        dist.all_reduce(torch.ones(3), op)
        while True:
            dist.all_reduce(torch.ones(3))

    tell(rank, "reductions", until_it_fails)
    os._exit(0)


def no_elements(rank, size):
    """For ranks with elements and those without any."""
    dist.all_reduce(torch.ones(1))
    dist.all_reduce(torch.ones(0))
    await_all(rank, size)
    some = torch.ones(4 if rank == 0 else 0)
    tell(rank, "none", lambda: dist.all_reduce(some))
    os._exit(0)


def odd_places(rank, size):
    """A path that is no text, a tool that is another one, and a user without a home: what
    rank 0 cannot do must not leave the others waiting."""
    os.environb[b"SCCL_PLAN_PATH"] = b"/nowhere/\xff"
    tell(rank, "path", lambda: dist.new_group(backend="sccl"))
    del os.environ["SCCL_PLAN_PATH"]
    os.environ["SCCL_TOOL"] = "/bin/true"
    tell(rank, "tool", lambda: dist.all_reduce(torch.ones(1)))
    del os.environ["SCCL_TOOL"], os.environ["SCCL_CACHE_HOME"]
    os.environ.pop("XDG_CACHE_HOME", None)
    doubles = torch.ones(1, dtype=torch.float64)
    with mock.patch("pathlib.Path.home", side_effect=RuntimeError):
        tell(rank, "home", lambda: dist.all_reduce(doubles))


def shut_down(rank, size):
    """A group that is shut down before all its works were waited for."""
    group = dist.new_group(backend="sccl")
    work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
    dist.barrier()
    group.shutdown()
    tell(rank, "shut down", work.wait)


def interrupted(rank, size):
    """Ctrl-C while a rank waits for one that does not come."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = dist.distributed_c10d._get_default_store()
    for way, asynchronous in ("waits", False), ("later", True):
        group = dist.new_group(backend="sccl")
        dist.all_reduce(torch.ones(1), group=group)
        if rank == 1:
            store.get(way)
            tell(rank, way, lambda: dist.all_reduce(torch.ones(1), group=group), (1,))
            continue
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            work = dist.all_reduce(torch.ones(1), group=group, async_op=asynchronous)
            work.wait()
        except KeyboardInterrupt:
            print(f"{way}: KeyboardInterrupt", flush=True)
        store.set(way, "over")
    dist.barrier()
    os._exit(0)


def lateness(rank, size):
    """A rank does not come."""
    seconds = datetime.timedelta(seconds=3)  # the first call meets twice
    group = dist.new_group(timeout=seconds, backend="sccl")
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=group)
    if rank == 0:
        tell(rank, "late", lambda: dist.all_reduce(tensor, group=group))
    dist.barrier()
    os._exit(0)


def ranks(rank, size):
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    if rank == 0:
        print(f"the sum is {tensor.item()}")


if __name__ == "__main__":
    start_each(globals(), sys.argv[1:])
