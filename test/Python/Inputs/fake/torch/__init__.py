# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What modules that sccl convert writes use of torch, for where there is none: tensors of one
dimension, of f32 and i32, that round as torch's do.
"""
import array
import math


class dtype:
    is_complex = False

    def __init__(self, code, is_floating_point):
        self.code, self.is_floating_point = code, is_floating_point


float32, int32 = dtype("f", True), dtype("i", False)


class Tensor:
    device = "cpu"

    def __init__(self, store, begin=0, end=None):
        self.store, self.begin = store, begin
        self.end = len(store) if end is None else end
        self.dtype = float32 if store.typecode == "f" else int32

    def numel(self):
        return self.end - self.begin

    def element_size(self):
        return 4

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return self.store.buffer_info()[0] + 4 * self.begin

    def view(self, size):
        assert size == -1
        return self

    def __getitem__(self, part):
        begin, end, step = part.indices(self.numel())
        assert step == 1 and part.stop <= self.numel(), "a view goes beyond its tensor"
        return Tensor(self.store, self.begin + begin, self.begin + end)

    def __iter__(self):
        return iter(self.store[self.begin : self.end])

    def copy_(self, other):
        assert other.numel() == self.numel() and other.dtype is self.dtype
        self.store[self.begin : self.end] = other.store[other.begin : other.end]

    def clone(self):
        return tensor(self, self.dtype)

    def to(self, kind):
        return tensor(self, kind)

    def new_empty(self, size):
        return tensor([-1] * size, self.dtype)  # as good as anything

    def new_full(self, shape, value):
        assert shape == ()
        return value

    def __mul__(self, factor):
        return tensor([a * factor for a in self], self.dtype)

    def __truediv__(self, divisor):
        return tensor([a / divisor for a in self], self.dtype)


def tensor(values, kind):
    if kind is float32:
        return Tensor(array.array("f", values))
    return Tensor(array.array("i", ((v + 2**31) % 2**32 - 2**31 for v in values)))


def _pairs(function):
    return lambda a, b: tensor([function(x, y) for x, y in zip(a, b)], a.dtype)


add, mul = _pairs(lambda x, y: x + y), _pairs(lambda x, y: x * y)
minimum, maximum = _pairs(min), _pairs(max)


def div(a, divisor, rounding_mode):
    assert rounding_mode == "trunc"
    return tensor([math.trunc(x / divisor) for x in a], a.dtype)
