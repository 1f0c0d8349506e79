"""An all_reduce of torch on plans among N processes: sum.py N. Under torchrun, rank_main
alone does it, and init_process_group needs no more than the backend."""
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import sccl.torch  # registers the backend
from sccl.torch.bench import free_port


def rank_main(rank, size, port):
    place = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("sccl", init_method=place, rank=rank, world_size=size)
    numbers = torch.full((1000,), float(rank))
    dist.all_reduce(numbers)
    if rank == 0:
        print(f"{size} ranks: {numbers[0].item()}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    size = int(sys.argv[1])
    mp.start_processes(rank_main, (size, free_port()), nprocs=size, start_method="fork")
