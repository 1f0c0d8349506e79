# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small model on 4 processes with DistributedDataParallel, with the backends
gloo and sccl, and then with FullyShardedDataParallel, and compares the losses."""
import sys

import torch
import torch.distributed as dist
import torch_sharding
from torch.nn.parallel import DistributedDataParallel
from torch_ranks import start

STEPS = 30


def model():
    torch.set_default_dtype(torch.float64)  # so that curves can be compared closely
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Linear(16, 64),
        torch.nn.BatchNorm1d(64),  # its buffers are broadcast
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    )


def train(net, rank, parameters):
    """The losses of all steps, averaged over the ranks."""
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(STEPS):
        data = torch.randn(32, 16, generator=generator)
        target = data.sum(1, keepdim=True)
        optimizer.zero_grad()
        loss = (net(data) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    curve = torch.stack(losses)
    dist.all_reduce(curve, group=dist.new_group(backend="gloo"))
    return curve / dist.get_world_size()


def parallel(rank, size, file):
    # Small buckets, so that several are under way at once.
    net = DistributedDataParallel(model(), bucket_cap_mb=0.01)
    curve = train(net, rank, net.parameters())
    weights = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    everyone = [torch.empty_like(weights) for _ in range(size)]
    dist.all_gather(everyone, weights)
    assert all(torch.equal(weights, other) for other in everyone), "weights differ"
    if rank == 0:
        torch.save((curve, weights), file)


def sharded(rank, size, file):
    FullyShardedDataParallel = torch_sharding.load()
    # Two units, so that one is gathered while another is used.
    net = model()
    net[3] = FullyShardedDataParallel(net[3])
    net = FullyShardedDataParallel(net)
    curve = train(net, rank, net.parameters())
    if rank == 0:
        torch.save(curve, file)


if __name__ == "__main__":
    curves = {}
    for backend in ["gloo", "sccl"]:
        file = f"{sys.argv[1]}.{backend}"
        assert not any(start(parallel, 4, file, backend=backend))
        curves[backend] = torch.load(file)
    (expected, weights), (curve, ours) = curves["gloo"], curves["sccl"]
    assert curve[-1] < curve[0] / 2, curve
    assert torch.allclose(curve, expected, rtol=1e-9), (curve - expected).abs().max()
    assert torch.allclose(weights, ours, rtol=1e-7)
    print(f"DDP: {STEPS} losses are gloo's, from {curve[0]:.2f} to {curve[-1]:.2f}")
    file = f"{sys.argv[1]}.sharded"
    assert not any(start(sharded, 4, file))
    curve = torch.load(file)
    assert torch.allclose(curve, expected, rtol=1e-9), (curve - expected).abs().max()
    print(f"FSDP: {STEPS} losses are those of DDP")
