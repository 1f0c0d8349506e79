# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same of torch.distributed. Ranks are threads; what is received before it was sent, or in
another length, fails.
"""
import collections
import enum
import queue
import threading

ReduceOp = enum.Enum("ReduceOp", "SUM AVG PRODUCT MIN MAX")
P2POp = collections.namedtuple("P2POp", "op tensor peer group")


class ProcessGroup:
    def __init__(self, size):
        self.links = [[queue.Queue() for _ in range(size)] for _ in range(size)]


_own = threading.local()


def enter(world, rank):
    """The thread is this rank of `world` from now on."""
    _own.world, _own.rank = world, rank


def get_rank(group=None):
    return _own.rank


def get_world_size(group=None):
    return len(_own.world.links)


class Received:
    def __init__(self, link, tensor):
        self.link, self.tensor = link, tensor

    def wait(self):
        self.tensor.copy_(self.link.get(timeout=20))


class Sent:
    def __init__(self, link, tensor):
        link.put(tensor.clone())

    def wait(self):
        pass


def isend(tensor, peer):
    return Sent(_own.world.links[_own.rank][peer], tensor)


def irecv(tensor, peer):
    return Received(_own.world.links[peer][_own.rank], tensor)


def batch_isend_irecv(ops):
    assert ops and all(op.tensor.numel() for op in ops)
    return [op.op(op.tensor, op.peer) for op in ops]
