# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that end with groups in cycles, as an error that was caught leaves them."""
import gc
import os
import sys
import weakref

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import sccl.torch
from sccl.torch.bench import free_port

SIZE = 2


class Owner:
    """Ends the group, whatever came before."""

    def __init__(self, group):
        self.group, self.work, group.owner = group, None, self

    def __del__(self):
        self.group.shutdown()
        self.group.abort()
        self.group.shutdown()


def caught(group):
    """An error whose traceback knows the frame that keeps the error, and so the group."""
    try:
        dist.all_reduce(torch.ones(4 + dist.get_rank(group)), group=group)
    except RuntimeError as error:
        kept = error
        return str(kept)


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("sccl", rank=rank, world_size=SIZE)
    for first in "group", "owner", "membership":
        group = dist.new_group(backend="sccl")
        dist.all_reduce(torch.ones(4), group=group)
        work = dist.all_reduce(torch.ones(4), group=group, async_op=True)
        assert "another count" in caught(group)
        if first == "owner":
            Owner(group).work = work
        elif first == "membership":
            group._cpu.comm._membership.group = group
        dist.barrier()
        dist.destroy_process_group(group)
        there = weakref.ref(group)
        del group, work
        gc.collect()
        assert there() is None
    assert "another count" in (caught(None) or "")


if __name__ == "__main__":
    for method in "spawn", "fork":
        context, port = mp.get_context(method), free_port()
        ranks = [context.Process(target=main, args=(r, port)) for r in range(SIZE)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
        print(f"{method}: ended with {[process.exitcode for process in ranks]}")
