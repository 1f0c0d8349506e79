"""Trains a small model on N processes, 2 or 4: same_losses.py N. A step has four
micro-batches, so 2 processes take two each, and add up their gradients first. With
SCCL_ORDER=tree both print the same lines, to the last bit."""
import contextlib
import hashlib
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import sccl.torch  # registers the backend
from sccl.torch.bench import free_port

STEPS, MICRO_BATCHES = 5, 4


def micro_batch(number):
    generator = torch.Generator().manual_seed(number)
    data = torch.randn(16, 32, generator=generator)
    return data, data.sum(1, keepdim=True)


def train(rank, size):
    torch.set_num_threads(1)  # the order within a matrix product is torch's
    torch.manual_seed(7)
    layers = torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)
    net = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    share = MICRO_BATCHES // size
    for step in range(STEPS):
        optimizer.zero_grad()
        total = torch.zeros(())
        for part in range(share):
            number = (step * size + rank) * share + part
            data, target = micro_batch(number)
            is_last = part == share - 1
            # Ranks add up their gradients in the last backward().
            with contextlib.nullcontext() if is_last else net.no_sync():
                loss = (net(data) - target).square().mean() / share
                loss.backward()
            total += loss.detach()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        gradients = torch.cat([p.grad.view(-1) for p in net.parameters()])
        digest = hashlib.sha256(gradients.numpy().tobytes()).hexdigest()
        if rank == 0:
            print(f"step {step}: loss {total.item().hex()}, gradients {digest[:16]}")
        optimizer.step()


def rank_main(rank, size, port):
    place = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("sccl", init_method=place, rank=rank, world_size=size)
    train(rank, size)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    size = int(sys.argv[1])
    if size not in (2, 4):
        sys.exit("same_losses.py: expected 2 or 4 processes")
    mp.start_processes(rank_main, (size, free_port()), nprocs=size, start_method="fork")
