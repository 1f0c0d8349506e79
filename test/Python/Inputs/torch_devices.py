# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that say that they are on a GPU, on the backend sccl: their memory and their
streams are those of the driver on host memory of test/Runtime/fake. What torch itself
computes with them waits for the stream first, as a kernel of torch would."""
import ctypes
import sys

import torch
import torch.distributed as dist
from torch_ranks import start

OP = dist.ReduceOp
COUNT = 24  # elements, a multiple of two ranks


def call(name, *words):
    code = getattr(Gpu.driver, name)(*words)
    assert code == 0, f"{name}: {code}"


class Gpu:
    """The device of this process, with one stream."""

    driver = stream = index = None

    @classmethod
    def begin(cls, index):
        cls.driver, cls.index = ctypes.CDLL("libcuda.so.1"), index
        context, stream = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), index)
        call("cuCtxPushCurrent_v2", context)
        call("cuStreamCreate", ctypes.byref(stream), 0)
        cls.stream = stream
        cls.launches = 0
        torch.cuda.current_stream = cls.current_stream

    @classmethod
    def current_stream(cls, device):
        assert device == torch.device("cuda", cls.index), device
        cls.launches += 1
        return type("Stream", (), {"cuda_stream": cls.stream.value})


class OnDevice(torch.Tensor):
    """A tensor in memory of the driver."""

    is_cpu = False

    @property
    def device(self):
        return torch.device("cuda", Gpu.index)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        call("cuStreamSynchronize", Gpu.stream)
        return super().__torch_function__(function, types, args, kwargs)


on_host = torch.empty


def empty(*shape, device=None, **options):
    if getattr(device, "type", device) != "cuda":
        return on_host(*shape, device=device, **options)
    like = on_host(*shape, **options)
    memory = ctypes.c_void_p()
    size = like.numel() * like.element_size()
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
    data = (ctypes.c_char * size).from_address(memory.value)
    return torch.frombuffer(data, dtype=like.dtype).view(like.shape).as_subclass(OnDevice)


def put(tensor):
    moved = empty(tensor.shape, dtype=tensor.dtype, device="cuda")
    moved.copy_(tensor)
    return moved


def get(tensor):
    return tensor.clone().as_subclass(torch.Tensor)


def values(rank, part=0, count=COUNT, kind=torch.float32):
    return (torch.arange(count) % 5 + rank + 2 * part).to(kind)


def expect(tensor, expected, what):
    assert torch.equal(get(tensor), expected), f"{what}: {get(tensor)} is not {expected}"


def collectives(rank, size, kind):
    everyone = [values(r, kind=kind) for r in range(size)]
    tensor = put(everyone[rank])
    dist.all_reduce(tensor)
    expect(tensor, sum(everyone), "all_reduce")
    works, tensors = [], [put(values(rank, part, kind=kind)) for part in range(3)]
    for tensor in tensors:
        works.append(dist.all_reduce(tensor, OP.MAX, async_op=True))
    for part, (work, tensor) in enumerate(zip(works, tensors)):
        work.wait()
        expect(tensor, values(size - 1, part, kind=kind), "all_reduce in flight")
    whole = put(torch.zeros(size * COUNT, dtype=kind))
    dist.all_gather_into_tensor(whole, put(everyone[rank]))
    expect(whole, torch.cat(everyone), "all_gather_into_tensor")
    parts = [put(torch.zeros(COUNT, dtype=kind)) for _ in range(size)]
    dist.all_gather(parts, put(everyone[rank]))
    for part, expected in zip(parts, everyone):
        expect(part, expected, "all_gather")
    mine = put(torch.zeros(COUNT // size, dtype=kind))
    dist.reduce_scatter_tensor(mine, put(everyone[rank]))
    expect(mine, sum(everyone).chunk(size)[rank], "reduce_scatter_tensor")
    got = put(torch.zeros(COUNT, dtype=kind))
    dist.all_to_all_single(got, put(everyone[rank]))
    expected = torch.cat([other.chunk(size)[rank] for other in everyone])
    expect(got, expected, "all_to_all_single")
    tensor = put(everyone[rank])
    dist.broadcast(tensor, 1)
    expect(tensor, everyone[1], "broadcast")


def refused(rank, what, call):
    try:
        call()
    except RuntimeError as error:
        if rank == 0:
            print(f"{what}: {error}", flush=True)
        return
    assert False, f"{what}: nothing was raised"


class Vendor(dist.ProcessGroupGloo):
    """In place of NCCL; it takes the tensors, as their memory is that of the host."""

    said = []
    has_works = True

    def allreduce(self, tensors, opts):
        """Waits where it gives no work, as NCCL's does in torch from 2.8 on."""
        work = super().allreduce(tensors, opts)
        return work if self.has_works else work.wait() and None

    def _start_coalescing(self):
        self.said.append("start")

    def _end_coalescing(self):
        self.said.append("end")


def by_vendor(rank, size):
    dist.is_nccl_available = lambda: True
    dist.ProcessGroupNCCL = Vendor
    everyone = [values(r, kind=torch.float16) for r in range(size)]
    tensor = put(everyone[rank])
    dist.all_reduce(tensor)
    expect(tensor, sum(everyone), "all_reduce by the vendor's library")
    for Vendor.has_works in False, True:
        # What is left to do is enqueued when the call returns, before any wait.
        columns = put(everyone[rank]).view(2, -1).t()
        work = dist.all_reduce(columns, async_op=True)
        expect(columns, sum(everyone).view(2, -1).t(), "all_reduce of columns")
        assert work.wait()
    # As torch 2 does for sends and receives of GPUs that go together.
    group = dist.distributed_c10d._get_default_group()
    group._start_coalescing(tensor.device)
    if rank == 0:
        dist.send(put(everyone[0]), 1)
    else:
        dist.recv(tensor, 0)
        expect(tensor, everyone[0], "recv")
    group._end_coalescing(tensor.device)
    assert Vendor.said == ["start", "end"]
    assert not group._get_backend(tensor.device).supports_splitting
    group._set_group_name("a name")
    assert group.group_name == "a name"


def main(rank, size):
    Gpu.begin(rank)
    torch.empty = empty
    for kind in [torch.float32, torch.int64]:
        collectives(rank, size, kind)
    # A tensor on the CPU takes another communicator of the same group.
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.full((3,), float(size)))
    dist.barrier()
    tensor = put(values(rank, kind=torch.float16))
    refused(rank, "type", lambda: dist.all_reduce(tensor))
    refused(rank, "send", lambda: dist.send(tensor, 1 - rank))
    by_vendor(rank, size)
    if rank == 0:
        print(f"{size} ranks: {Gpu.launches} launches on each GPU are right", flush=True)
    Gpu.index = 1 - rank
    refused(rank, "device", lambda: dist.all_reduce(put(values(rank))))


if __name__ == "__main__":
    sys.exit(any(start(main, 2)))
