# ===- bench.py - Beside gloo -----------------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""``python -m sccl.torch.bench``: collectives of sccl beside gloo's, on CPU tensors.

One program has a group of each backend, and they take turns batch by batch, so that
other load is shared. A line has the time of the best batch on the slowest rank.
"""
from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
from typing import Callable, Dict

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import sccl.torch  # noqa: F401: registers the backend


def _calls(name: str, count: int, ranks: int) -> Callable[[object], None]:
    """A call of the collective `name` with `count` floats in the larger buffer."""
    large, small = torch.ones(count), torch.ones(max(count // ranks, 1))
    whole = torch.ones(small.numel() * ranks)
    parts = list(whole.split(small.numel()))
    if name == "all_reduce":
        return lambda group: dist.all_reduce(large, group=group)
    if name == "all_gather":
        return lambda group: dist.all_gather(parts, small, group=group)
    if name == "broadcast":
        return lambda group: dist.broadcast(large, 0, group=group)
    other = torch.ones_like(whole)
    return lambda group: dist.all_to_all_single(other, whole, group=group)


def _batch(call: Callable[[object], None], group: object, launches: int) -> float:
    dist.barrier(group=group)
    begin = time.perf_counter()
    for _ in range(launches):
        call(group)
    return (time.perf_counter() - begin) / launches


def _compare(call, groups: Dict[str, object], size: int, batches: int) -> torch.Tensor:
    """Microseconds of each group, on the slowest rank."""
    launches = max(1, min(50, (4 << 20) // size))
    best = torch.full((len(groups),), float("inf"))
    for _ in range(batches):
        for at, group in enumerate(groups.values()):
            best[at] = min(best[at], _batch(call, group, launches) * 1e6)
    dist.all_reduce(best, dist.ReduceOp.MAX)
    return best


def _overhead(group: object) -> float:
    """Microseconds of Python around a call of libsccl, here one of no elements."""
    none, one = torch.empty(0), torch.ones(1)
    dist.all_reduce(one, group=group)  # has the plan
    best = float("inf")
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(500):
            dist.all_reduce(none, group=group)
        best = min(best, (time.perf_counter() - begin) / 500)
    return best * 1e6


def _rank_main(rank: int, ranks: int, port: int, options: argparse.Namespace) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    members = list(range(ranks))
    groups = {name: dist.new_group(members, backend=name) for name in ("gloo", "sccl")}
    overhead = _overhead(groups["sccl"])
    if rank == 0:
        print(f"# {ranks} processes; Python around a call: {overhead:.1f} us")
        print("collective    ranks      bytes    gloo us    sccl us   ratio", flush=True)
    for name in options.collectives.split(","):
        size = options.least
        while size <= options.most:
            call = _calls(name, size // 4, ranks)
            gloo, ours = _compare(call, groups, size, options.batches).tolist()
            if rank == 0:
                row = f"{name:12}{ranks:7}{size:11}{gloo:11.1f}{ours:11.1f}"
                print(f"{row}{gloo / ours:8.2f}", flush=True)
            size *= 4
    dist.barrier()
    dist.destroy_process_group()


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="sccl.torch.bench", description=__doc__)
    parser.add_argument("--ranks", default="2,4", help="numbers of processes")
    parser.add_argument("--collectives", default="all_reduce", help="with commas")
    parser.add_argument("--least", type=int, default=4 << 10, help="bytes")
    parser.add_argument("--most", type=int, default=64 << 20, help="bytes")
    parser.add_argument("--batches", type=int, default=20, help="the best counts")
    options = parser.parse_args()
    for ranks in map(int, options.ranks.split(",")):
        try:
            mp.spawn(_rank_main, (ranks, free_port(), options), nprocs=ranks)
        except mp.ProcessExitedException as error:
            if error.signal_name != "SIGPIPE":
                raise
            sys.exit(128 + signal.SIGPIPE)  # a reader such as head has enough


if __name__ == "__main__":
    main()
