# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend sccl with ranks on several hosts: tensors on the CPU, and such that say that
they are on a GPU, as in torch_devices.py.

usage: torch_hosts.py cpu|cuda"""
import sys

import torch
import torch.distributed as dist
import torch_devices
from torch_ranks import start


def on_cpu(rank, size):
    for count in (1, 1000, 300000):
        everyone = [torch.arange(count) % 7 + r + 0.0 for r in range(size)]
        tensor = everyone[rank].clone()
        dist.all_reduce(tensor)
        assert torch.equal(tensor, sum(everyone)), "all_reduce"
        works = []
        tensors = [everyone[rank] + part for part in range(3)]
        for tensor in tensors:
            works.append(dist.all_reduce(tensor, async_op=True))
        for part, (work, tensor) in enumerate(zip(works, tensors)):
            work.wait()
            assert torch.equal(tensor, sum(everyone) + size * part), "in flight"
        whole = torch.empty(size * count)
        dist.all_gather_into_tensor(whole, everyone[rank])
        assert torch.equal(whole, torch.cat(everyone)), "all_gather"
    tensor = torch.tensor([rank])
    dist.broadcast(tensor, 1)
    assert tensor.item() == 1, "broadcast"


def on_cuda(rank, size):
    torch_devices.Gpu.begin(rank)
    torch.empty = torch_devices.empty
    torch_devices.collectives(rank, size, torch.float32)


def main(rank, size, device):
    {"cpu": on_cpu, "cuda": on_cuda}[device](rank, size)
    if rank == 0:
        print(f"{size} ranks on {device}: right")


if __name__ == "__main__":
    ended = start(main, 2, sys.argv[1])
    print("ended with", ended)
    sys.exit(any(ended))
