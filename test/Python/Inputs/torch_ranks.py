# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a function on ranks that are processes with the backend sccl."""
import os
import sys
from unittest import mock

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import sccl.torch
from sccl.torch.bench import free_port


def _main(rank, size, port, backend, seconds, function, words):
    import datetime

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group(
        backend,
        rank=rank,
        world_size=size,
        timeout=datetime.timedelta(seconds=seconds),
    )
    function(rank, size, *words)
    sys.stdout.flush()
    dist.destroy_process_group()


def start(function, size, *words, backend="sccl", seconds=60):
    """Calls function(rank, size, *words) on `size` processes, and returns how they have
    ended. They are forks, so that each need not import torch."""
    context, port = mp.get_context("fork"), free_port()
    processes = []
    for rank in range(size):
        arguments = (rank, size, port, backend, seconds, function, words)
        processes.append(context.Process(target=_main, args=arguments, daemon=True))
        processes[-1].start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def start_each(functions, words):
    """Starts what `words` say, one after the other: settings NAME=VALUE of the environment, if
    any, the name of a function, and on how many processes. torch is imported once for all."""
    words = iter(words)
    while name := next(words, None):
        settings = {}
        while "=" in name:
            variable, settings[variable] = name.split("=", 1)
            name = next(words)
        with mock.patch.dict(os.environ, settings):
            ends = start(functions[name], int(next(words)))
        print(f"{name}: ended with {ends}", flush=True)
