# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the GPU helpers for LL words on this machine's CPU.

usage: execute-ll.py TARGET BLOCK-SIZE FILE.mlir [ELEMENT]

FILE holds a program whose helpers are @coll_transfer_pm, _pp and _mp and
@coll_reduce_pmp and _ppp. Compiles them as execute-helpers.py does; chunks then go
from plain memory to LL words, to other LL words and to plain memory again, and are
reduced on the way, for many sizes, alignments and numbers of blocks. What must not
be touched is guarded. At last, a launch that is aborted leaves everything as it is.
"""
import ctypes
import importlib.util
import itertools
import pathlib
import random
import struct
import sys
import tempfile

ACTIONS = [("copy", "pm"), ("copy", "pp"), ("copy", "mp"),
           ("reduce_elements", "pmp"), ("reduce_elements", "ppp")]
LAUNCH = 0xFEDCBA98


def load_base():
    path = pathlib.Path(__file__).with_name("execute-helpers.py")
    spec = importlib.util.spec_from_file_location("helpers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    geometry = {"copy": "transfer", "reduce_elements": "reduce"}
    names = []
    for action, letters in ACTIONS:
        names += [f"coll_{action}_{letters}", f"coll_{geometry[action]}_{letters}"]
        if action == "copy":
            names.append(f"coll_copy_{letters}_team")
    module.HELPERS = names
    return module


def packed(data):
    """The LL words that carry `data`."""
    words = [data[at : at + 4] for at in range(0, len(data), 4)]
    return b"".join(word.ljust(4, b"\0") + struct.pack("<I", LAUNCH) for word in words)


class Chain:
    """All blocks together move or reduce one run of chunks."""

    def __init__(self, machine, segment, chunks, position, count, blocks):
        self.machine, self.segment, self.chunks = machine, segment, chunks
        self.position, self.count, self.blocks = position, count, blocks
        self.stride = (-(-segment // chunks) + 15) // 16 * 16
        begin = min(position * self.stride, segment)
        self.size = min((position + count) * self.stride, segment) - begin
        self.begin = begin
        self.abort = ctypes.c_uint64(0)

    def launch(self, name, *buffers):
        for block in range(self.blocks):
            self.machine.launch(
                name, *itertools.chain(*buffers), self.position, self.count,
                ctypes.c_int64(self.segment), ctypes.c_int64(self.segment),
                self.chunks, block, self.blocks, 1, *(0 for _ in buffers),
                ctypes.c_uint32(LAUNCH), ctypes.byref(self.abort),
            )

    def scratch(self, fill=None):
        """Slots for the run, behind another slot."""
        slots = (1 + self.count) * 2 * self.stride
        memory, start, pointer = self.machine.buffer(slots, 0, fill)
        return memory, start, (pointer, 0, 2)

    def expect_ll(self, memory, start, data, what):
        skipped = bytes([0xA5]) * 2 * self.stride
        size = (1 + self.count) * 2 * self.stride
        expected = (skipped + packed(data)).ljust(size, b"\xa5")
        self.machine.expect(memory, start, expected, what)


def check_chain(chain, kind, source, offset):
    """Plain to LL words, to LL words, to plain, with a reduction of both kinds."""
    machine, size = chain.machine, chain.size
    what = f"{chain.count} of {chain.chunks} chunks of {chain.segment}, {{}}"
    left, right = (kind.draw(source, chain.segment // kind.size) for _ in range(2))
    part = slice(chain.begin, chain.begin + size)
    _, _, lhs = keep = machine.buffer(chain.segment, offset, left)
    _, _, rhs = keep2 = machine.buffer(chain.segment, 2 * offset, right)
    first, other, third, last = (chain.scratch() for _ in range(4))
    chain.launch("coll_transfer_pm", first[2], (lhs, 0, chain.position))
    chain.expect_ll(*first[:2], left[part], what.format("sent"))
    chain.launch("coll_transfer_pp", other[2], first[2])
    chain.expect_ll(*other[:2], left[part], what.format("sent on"))
    once = kind.combine(left[part], right[part], None)
    chain.launch("coll_reduce_pmp", third[2], (rhs, 0, chain.position), other[2])
    chain.expect_ll(*third[:2], once, what.format("reduced"))
    twice = kind.combine(once, left[part], None)
    chain.launch("coll_reduce_ppp", last[2], third[2], other[2])
    chain.expect_ll(*last[:2], twice, what.format("reduced again"))
    memory, start, out = machine.buffer(chain.segment, offset)
    chain.launch("coll_transfer_mp", (out, 0, chain.position), last[2])
    expected = bytes([0xA5]) * chain.begin + twice
    machine.expect(memory, start, expected.ljust(chain.segment, b"\xa5"),
                   what.format("delivered"))


def check_abort(chain):
    """LL words of another launch never come; the abort word ends the launch."""
    chain.abort.value = 1
    stale = packed(bytes(chain.size)).replace(
        struct.pack("<I", LAUNCH), struct.pack("<I", LAUNCH - 2))
    source = chain.scratch(bytes(2 * chain.stride) + stale)
    memory, start, out = chain.machine.buffer(chain.segment, 0)
    chain.launch("coll_transfer_mp", (out, 0, chain.position), source[2])
    chain.machine.expect(memory, start, bytes([0xA5]) * chain.segment, "aborted")
    target = chain.scratch()
    chain.launch("coll_transfer_pp", target[2], source[2])
    size = (1 + chain.count) * 2 * chain.stride
    chain.machine.expect(*target[:2], bytes([0xA5]) * size, "aborted")


def main():
    target, block_size, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    base = load_base()
    kind = base.KINDS[sys.argv[4] if len(sys.argv) > 4 else "f32"]
    element = sys.argv[4] if len(sys.argv) > 4 else "f32"
    source = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        library, names = base.load(target, block_size, path, element, "sum", folder)
        if names != base.HELPERS:
            sys.exit(f"found only {', '.join(names)}")
        machine = base.Machine(library, block_size)
        sizes = [0, 4, 100, 1028, 4096, 30_012] + ([1, 3, 1027] if kind.size == 1 else [])
        for segment, chunks, blocks in itertools.product(sizes, [1, 3], [1, 2, 5]):
            position = source.randrange(chunks)
            count = source.randrange(1, chunks - position + 1)
            chain = Chain(machine, segment, chunks, position, count, blocks)
            for offset in [0, 4] + ([1] if kind.size == 1 else []):
                check_chain(chain, kind, source, offset)
        check_abort(Chain(machine, 100, 1, 0, 1, 2))
    print(f"{machine.cases} cases right")


if __name__ == "__main__":
    main()
