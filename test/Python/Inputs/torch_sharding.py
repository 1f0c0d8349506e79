# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FullyShardedDataParallel of torch 1.13 on CPUs: its streams stand still, and its
dataclasses, which Python 3.11 refuses, have a hash."""
import contextlib
from dataclasses import dataclass
from unittest import mock

import torch


class Still:
    """A stream or an event of a device that does everything at once."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, _):
        return lambda *_, **__: None


def hashed(cls=None, **options):
    if cls is None:
        return lambda cls: hashed(cls, **options)
    cls = dataclass(cls, **options)
    if cls.__hash__ is None:
        cls.__hash__ = object.__hash__
    return cls


def load():
    """torch's class, for modules on the CPU."""
    with mock.patch("dataclasses.dataclass", hashed):
        from torch.distributed.fsdp import FullyShardedDataParallel
    if not torch.__version__.startswith("1."):
        return FullyShardedDataParallel
    torch.cuda.Stream = torch.cuda.Event = Still
    torch.cuda.current_stream = Still
    torch.cuda.stream = lambda _: contextlib.nullcontext()
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.is_available = lambda: True
    torch.Tensor.record_stream = lambda *_: None
    FullyShardedDataParallel._get_compute_device = lambda *_: torch.device("cpu")
    return FullyShardedDataParallel
