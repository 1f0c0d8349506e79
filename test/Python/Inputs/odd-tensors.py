# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of torch whose memory does not have their elements, and some that have."""
import torch

import sccl


def with_tensor(name, make, received=None):
    def main(comm):
        comm.load(plan)
        mine = make(comm.rank)
        got = received(comm.rank) if received else mine
        comm.all_reduce(mine, got)
        return got

    try:
        print(f"{name}: {sccl.run_threads(2, main)[0].tolist()}")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")


def conjugate(rank):
    return torch.ones(2, dtype=torch.complex64).conj()


def negative(rank):
    return torch._neg_view(torch.ones(2))


def ones(rank):
    return torch.ones(2)


plan = sccl.Plan(sccl.shelf.host_plan("all_reduce", 2))
with_tensor("conjugate", conjugate)
with_tensor("imaginary", lambda rank: conjugate(rank).imag)
with_tensor("negative", negative)
with_tensor("zeros", lambda rank: torch._efficientzerotensor(2))
with_tensor(
    "quantized",
    lambda rank: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
)
with_tensor("sparse", lambda rank: torch.ones(2).to_sparse())
with_tensor(
    "image",
    lambda rank: torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),
)
with_tensor("expanded", lambda rank: torch.ones(1).expand(4))
with_tensor("elsewhere", lambda rank: torch.ones(2, device="meta"))
with_tensor("received", ones, negative)
with_tensor("short", lambda rank: torch.ones(2, dtype=torch.int16))
with_tensor("none", lambda rank: torch.ones(0))
with_tensor("scalar", lambda rank: torch.tensor(rank + 1.0))
with_tensor("leaf", lambda rank: torch.ones(2, requires_grad=True))
