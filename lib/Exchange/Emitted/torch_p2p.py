# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import functools
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.distributed as dist


class Line(NamedTuple):
    """A line of a rank's program, of `count` chunks that are neighbours wherever they are; the
    first is number `position` of its segment. A place is a buffer and a slot: i3, o0 or s7.
    """

    what: str  # send, recv, copy or sum
    position: int
    count: int
    places: List[str]  # what is written comes first
    peer: int  # of a message
    weights: Tuple[int, ...]  # of a sum, see `combine`


class Round(NamedTuple):
    messages: List[Line]  # all at once
    steps: List[Line]  # one after the other, when the messages are there


class Memory:
    """The buffers of a rank. Segments of `count` elements follow each other, each cut into
    CHUNKS chunks that begin at multiples of 16 bytes: the last ones may be short or empty.
    """

    def __init__(self, like: torch.Tensor, count: int, slots: int):
        unit = max(1, 16 // like.element_size())
        self.count, self.stride = count, -(-count // (CHUNKS * unit)) * unit
        self.buffers = {"s": like.new_empty(slots * self.stride)}

    def start(self, slot: int) -> int:
        return slot // CHUNKS * self.count + min(slot % CHUNKS * self.stride, self.count)

    def view(self, line: Line, place: str) -> torch.Tensor:
        slot = int(place[1:])
        length = self.start(line.position + line.count) - self.start(line.position)
        begin = slot * self.stride if place[0] == "s" else self.start(slot)
        return self.buffers[place[0]][begin : begin + length]


@functools.lru_cache(maxsize=None)
def read(rank: int) -> Tuple[Dict[str, int], List[Round]]:
    """What `rank` has, in segments of its buffers and slots, and what it does, from its part of PROGRAM."""
    has, rounds = {"i": 0, "o": 0, "s": 0}, [Round([], [])]
    for text in PROGRAM[rank].splitlines():
        what, *words = text.split() or [""]
        if what == "rank":
            has = dict(zip("ios", map(int, words[2:])))
        elif what == "round":
            rounds.append(Round([], []))
        elif what:
            position, count = map(int, words[0].split("+"))
            if what in ("send", "recv"):
                line = Line(what, position, count, words[1:2], int(words[2]), ())
                rounds[-1].messages.append(line)
            else:
                weights = [int(word) for word in words if word.isdigit()]
                places = [word for word in words[1:] if not word.isdigit()]
                line = Line(what, position, count, places, -1, tuple(weights))
                rounds[-1].steps.append(line)
    return has, rounds


def combine(
    op: dist.ReduceOp, values: List[torch.Tensor], weights: Tuple[int, ...]
) -> torch.Tensor:
    """Combines `values` from the left to the right; floats of less than 32 bits are rounded
    once. An average divides its first operand by two to the power of weights[0] and the others
    by that of weights[1], and the result by weights[2] if that is not 0, the number of ranks.
    """
    kind = values[0].dtype
    if kind.is_floating_point and values[0].element_size() < 4:
        values = [value.to(torch.float32) for value in values]
    whole = not kind.is_floating_point and not kind.is_complex
    average = op == dist.ReduceOp.AVG
    if average and not whole:
        scales = [2.0**-weights[0]] + [2.0 ** -weights[1]] * (len(values) - 1)
        values = [value * scale for value, scale in zip(values, scales)]
    for known, function in [
        (dist.ReduceOp.SUM, torch.add),
        (dist.ReduceOp.AVG, torch.add),
        (dist.ReduceOp.PRODUCT, torch.mul),
        (dist.ReduceOp.MIN, torch.minimum),
        (dist.ReduceOp.MAX, torch.maximum),
    ]:
        if op == known:
            result = functools.reduce(function, values)
            break
    else:
        raise ValueError(f"{op} is none of sum, product, min, max and average")
    if average and weights[2]:
        if whole:
            return torch.div(result, weights[2], rounding_mode="trunc").to(kind)
        power = 2.0 ** (weights[2] - 1).bit_length()
        # A number that is no tensor would be multiplied by its inverse on some devices.
        result = result / result.new_full((), weights[2] / power)
    return result.to(kind)


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    ends = [t.data_ptr() + t.numel() * t.element_size() for t in (a, b)]
    return a.data_ptr() < ends[1] and b.data_ptr() < ends[0]


def prepare(
    rank: int, input: Optional[torch.Tensor], output: Optional[torch.Tensor], count: Optional[int]
) -> Memory:
    """The memory of a call. Raises ValueError if the tensors do not fit."""
    has, _ = read(rank)
    counts, given = {count} - {None}, {"i": input, "o": output}
    for name, tensor in given.items():
        what = "input" if name == "i" else "output"
        if has[name] == 0:
            continue
        if tensor is None or tensor.numel() % has[name]:
            size = "no" if tensor is None else tensor.numel()
            raise ValueError(f"the {what} of rank {rank} has {size} elements for {has[name]} parts")
        if not tensor.is_contiguous():
            raise ValueError(f"the {what} of rank {rank} is not contiguous")
        counts.add(tensor.numel() // has[name])
    tensors = [tensor for tensor in given.values() if tensor is not None]
    if len(counts) != 1 or not tensors:
        raise ValueError(f"rank {rank} needs tensors of one count, it has {sorted(counts)}")
    if len({(tensor.dtype, tensor.device) for tensor in tensors}) > 1:
        raise ValueError(f"the tensors of rank {rank} differ in type or device")
    memory = Memory(tensors[0], counts.pop(), has["s"])
    if len(tensors) > 1 and has["i"] and has["o"] and overlap(*tensors):
        given["i"] = tensors[0].clone()
    for name, tensor in given.items():
        if has[name]:
            memory.buffers[name] = tensor.view(-1)
    return memory


def run(
    output: Optional[torch.Tensor],
    input: Optional[torch.Tensor],
    *,
    op: dist.ReduceOp = dist.ReduceOp.SUM,
    group: Optional[dist.ProcessGroup] = None,
    count: Optional[int] = None,
) -> None:
    """Executes PROGRAM; all ranks of the group call it. A rank without an input or an output may
    pass None. The two may overlap, which costs a copy of the input. `op` is for collectives that
    reduce. `count`, the elements of a segment, is only needed by ranks that have neither: they
    pass an empty tensor for its type and device. Raises ValueError where something does not fit.
    """
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if rank < 0 or size != len(PROGRAM):
        raise ValueError(f"this is for {len(PROGRAM)} ranks, the group has {size}")
    memory = prepare(rank, input, output, count)
    for messages, steps in read(rank)[1]:
        requests = []
        for line in messages:
            view = memory.view(line, line.places[0])
            if view.numel():
                peer = line.peer if group is None else dist.get_global_rank(group, line.peer)
                end = dist.isend if line.what == "send" else dist.irecv
                requests.append(dist.P2POp(end, view, peer, group))
        for work in dist.batch_isend_irecv(requests) if requests else []:
            work.wait()
        for line in steps:
            write, *reads = [memory.view(line, place) for place in line.places]
            write.copy_(reads[0] if line.what == "copy" else combine(op, reads, line.weights))
