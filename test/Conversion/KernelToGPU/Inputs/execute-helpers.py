# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the GPU helpers that move data on this machine's CPU.

usage: execute-helpers.py TARGET BLOCK-SIZE FILE.mlir [ELEMENT [REDUCTION]]

Lowers the programs of FILE with the given options of convert-kernel-to-gpu, takes
@coll_copy, @coll_transfer and, if there, @coll_reduce_elements, @coll_average and
@coll_reduce, and compiles them for the CPU with the thread's number read from a
variable. They have no barriers, so the threads of a block may run one after the
other. What they write is compared with a plain copy, sum or average over the
whole of a guarded buffer, for many lengths, alignments and parts.
"""
import bisect
import ctypes
import itertools
import pathlib
import random
import re
import subprocess
import sys
import tempfile

GUARD = 0xA5
HELPERS = "coll_copy", "coll_reduce_elements", "coll_average", "coll_transfer", "coll_reduce"

# Of averages: how many contributions both operands have, and the number of all
# if the reduction is the last one, else 0.
SHARES = [(1, 1, 0), (2, 1, 0), (1, 3, 0), (3, 1, 4), (1, 1, 2)]


def exponent(count):
    """The least power of two that is not less than `count`, as AverageWord.h."""
    return (count - 1).bit_length()


def word_of(left, right, all):
    """The AverageWord of a reduction."""
    result = exponent(all or left + right)
    return all | (result - exponent(left)) << 17 | (result - exponent(right)) << 22


def weighed(a, b, share):
    """The sum of two numbers, or one reduction of an average of floats."""
    if not share:
        return a + b
    left, right, all = share
    total = a * 2 ** exponent(left) + b * 2 ** exponent(right)
    return total / (all or 2 ** exponent(left + right))


def run(*command, text=None):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{command[0]} failed: {result.stderr}")
    return result.stdout


PAIR = re.compile(
    r'(?:(%\w+) = )?llvm\.inline_asm has_side_effects "(?:ld|st)\.relaxed\.sys\.global\.v2'
    r'\.b64 .*\[\$\d\+(\d+)\].*?", "[^"]*" (.*?) : .*'
)


def pair(match, number):
    """What an access to two LL words in PTX does, for a CPU."""
    result, ahead, operands = match[1], int(match[2]), match[3].split(", ")
    lines = [
        f"%place{number}_{i} = llvm.getelementptr {operands[0]}[{ahead + 8 * i}]"
        " : (!llvm.ptr) -> !llvm.ptr, i8"
        for i in range(2)
    ]
    if result:
        lines.append(
            f"{result} = llvm.load %place{number}_0 : !llvm.ptr -> !llvm.struct<(i64, i64)>"
        )
    for i, word in enumerate(operands[1:]):
        lines.append(f"llvm.store {word}, %place{number}_{i} : i64, !llvm.ptr")
    return "\n".join(lines)


def load(target, block_size, path, element, reduction, folder):
    """The helpers as a shared library, and the names of those it has."""
    options = f"target={target} block-size={block_size} "
    options += f"element={element} reduction={reduction}"
    text = run(
        "sccl-opt", path, "-convert-coll-to-kernel", f"-convert-kernel-to-gpu={options}"
    )
    found = re.findall(
        r"^ +llvm\.func internal @(\w+)\(.*?^    \}$", text, re.S | re.M
    )
    names = [name for name in HELPERS if name in found]
    bodies = [
        re.search(rf"^ +llvm\.func internal @{name}\(.*?^    \}}$", text, re.S | re.M)[0]
        for name in names
    ]
    module = "\n".join(bodies).replace("llvm.func internal", "llvm.func")
    module = module.replace("!llvm.ptr<1>", "!llvm.ptr")
    numbers = itertools.count()

    def thread(match):
        n = next(numbers)
        return (
            f"%here{n} = llvm.mlir.addressof @thread : !llvm.ptr\n"
            f"%word{n} = llvm.load %here{n} : !llvm.ptr -> i64\n"
            f"{match[1]} = arith.index_cast %word{n} : i64 to index"
        )

    module, threads = re.subn(r"(%\w+) = gpu\.thread_id +x", thread, module)
    module = re.sub(PAIR, lambda match: pair(match, next(numbers)), module)
    if not threads:
        sys.exit("found no helper that knows its thread")
    module += "\nllvm.mlir.global external @thread(0 : i64) : i64\n"
    lowered = run(
        "sccl-opt", "-", "-convert-scf-to-cf", "-convert-arith-to-llvm",
        "-convert-cf-to-llvm", "-convert-index-to-llvm", "-reconcile-unrealized-casts",
        text=module,
    )
    folder = pathlib.Path(folder)
    run("mlir-translate", "--mlir-to-llvmir", "-o", str(folder / "h.ll"), text=lowered)
    run("llc", "-O1", "-filetype=obj", "-relocation-model=pic", str(folder / "h.ll"),
        "-o", str(folder / "h.o"))
    run("ld.lld", "-shared", str(folder / "h.o"), "-o", str(folder / "h.so"))
    return ctypes.CDLL(str(folder / "h.so")), names


class Machine:
    def __init__(self, library, block_size):
        self.library = library
        self.thread = ctypes.c_int64.in_dll(library, "thread")
        self.block_size = block_size
        self.cases = 0

    def launch(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = None
        for thread in range(self.block_size):
            self.thread.value = thread
            function(*arguments)

    def buffer(self, size, offset, fill=None):
        """Memory at an address that is `offset` modulo 64, with its contents."""
        memory = (ctypes.c_uint8 * (size + 192))()
        ctypes.memset(memory, GUARD, len(memory))
        base = ctypes.addressof(memory)
        start = (-base) % 64 + 64 + offset
        if fill:
            ctypes.memmove(base + start, fill, size)
        return memory, start, ctypes.c_void_p(base + start)

    def expect(self, memory, start, expected, what):
        self.cases += 1
        wanted = bytes([GUARD]) * start + expected
        wanted += bytes([GUARD]) * (len(memory) - len(wanted))
        if bytes(memory) != wanted:
            at = next(i for i, (a, b) in enumerate(zip(memory, wanted)) if a != b)
            sys.exit(f"{what}: wrong byte at {at - start} of {len(expected)}")


class F32:
    """Small integers, whose sums and quarters are exact."""

    size = 4

    def draw(self, source, count):
        kind = ctypes.c_float * count
        return bytes(kind(*(source.randrange(-999, 999) for _ in range(count))))

    def combine(self, left, right, share):
        kind = ctypes.c_float * (len(left) // 4)
        pairs = zip(kind.from_buffer_copy(left), kind.from_buffer_copy(right))
        return bytes(kind(*(weighed(a, b, share) for a, b in pairs)))


class I8:
    """Any bytes: sums wrap, then a division truncates."""

    size = 1

    def draw(self, source, count):
        return source.randbytes(count)

    def combine(self, left, right, share):
        divisor = share and share[2] or 1
        sums = ((a + b + 128) % 256 - 128 for a, b in zip(left, right))
        return bytes(int(value / divisor) % 256 for value in sums)


class F8(I8):
    """Any bytes, combined as numbers and rounded to the nearest in the list of
    all finite ones, the even one of two."""

    def __init__(self, mantissa_bits, nans):
        ones, bias = 1 << mantissa_bits, (1 << (6 - mantissa_bits)) - 1
        self.values = []  # of the magnitudes that are numbers
        for bits in range(nans):
            exponent, fraction = divmod(bits, ones)
            if exponent:
                fraction += ones
            scale = max(exponent, 1) - bias - mantissa_bits
            self.values.append(fraction * 2.0**scale)
        self.infinities = 1 if mantissa_bits == 2 else 0
        if self.infinities:
            self.values[-1] = float("inf")

    def decode(self, byte):
        magnitude = byte & 0x7F
        if magnitude >= len(self.values):
            return float("nan")
        return -self.values[magnitude] if byte & 0x80 else self.values[magnitude]

    def encode(self, value):
        if value != value:
            return 0x7F
        sign = 0x80 if str(value)[0] == "-" else 0
        finite = self.values[: len(self.values) - self.infinities]
        value = min(abs(value), finite[-1])
        above = bisect.bisect_left(finite, value)
        below = max(above - 1, 0)
        odds = finite[above] - value, value - finite[below]
        if odds[0] == odds[1]:
            return sign | (above if above % 2 == 0 else below)
        return sign | (above if odds[0] < odds[1] else below)

    def combine(self, left, right, share):
        pairs = ((self.decode(a), self.decode(b)) for a, b in zip(left, right))
        return bytes(self.encode(weighed(a, b, share)) for a, b in pairs)


KINDS = {"f32": F32(), "i8": I8(), "f8e4m3": F8(3, 0x7F), "f8e5m2": F8(2, 0x7D)}


def check_loops(machine, helpers, kind, source):
    """@coll_copy and @coll_reduce_elements, or @coll_average."""
    tile = 16 * 8 * machine.block_size
    lengths = [0, 1, 3, 4, 15, 16, 17, 4100, tile - 1, tile, tile + 16, 2 * tile + 1237]
    for size, (a, b) in itertools.product(
        lengths, [(0, 0), (5, 5), (16, 0), (4, 8), (1, 5), (7, 2)]
    ):
        data = source.randbytes(size)
        memory, start, dst = machine.buffer(size, a)
        _, _, src = keep = machine.buffer(size, b, data)
        machine.launch("coll_copy", dst, src, ctypes.c_int64(size))
        machine.expect(memory, start, data, f"coll_copy of {size} at {a}, {b}")
    for name, size, (a, b, c) in itertools.product(
        [name for name in ("coll_reduce_elements", "coll_average") if name in helpers],
        sorted({length // kind.size * kind.size for length in lengths}),
        [(0, 0, 0), (4, 20, 36), (12, 12, 12), (0, 4, 8), (8, 8, 0)],
    ):
        left, right = (kind.draw(source, size // kind.size) for _ in range(2))
        memory, start, dst = machine.buffer(size, a)
        _, _, lhs = keep = machine.buffer(size, b, left)
        _, _, rhs = keep2 = machine.buffer(size, c, right)
        share, word = None, ()
        if "coll_average" in helpers:
            isLast = name == "coll_average"
            share = source.choice([it for it in SHARES if bool(it[2]) == isLast])
            word = (word_of(*share),)
        machine.launch(name, dst, lhs, rhs, ctypes.c_int64(size), *word)
        expected = kind.combine(left, right, share)
        machine.expect(memory, start, expected, f"{name} of {size}, {share}")


def check_geometry(machine, combines, averages, kind, source):
    """@coll_transfer and @coll_reduce: all blocks together move the chunks."""
    for segment, chunks, blocks in itertools.product(
        [0, 4, 100, 4096, 6148], [1, 3, 6], [1, 2, 3, 8]
    ):
        # Segments may be apart.
        distance = segment + source.choice([0, 16, 4 * source.randrange(1, 50)])
        stride = (-(-segment // chunks) + 15) // 16 * 16
        position = source.randrange(chunks)
        count = source.randrange(1, chunks - position + 1)
        begin = min(position * stride, segment)
        size = min((position + count) * stride, segment) - begin
        left = kind.draw(source, (distance + segment) // kind.size)
        right = kind.draw(source, segment // kind.size)
        memory, start, dst = machine.buffer(2 * distance + segment, 0)
        _, _, lhs = keep = machine.buffer(distance + segment, 0, left)
        _, _, rhs = keep2 = machine.buffer(segment, 0, right)
        here = (1, position)
        share = source.choice(SHARES) if averages else None
        for block in range(blocks):
            tail = (position, count, ctypes.c_int64(segment),
                    ctypes.c_int64(distance), chunks, block, blocks)
            operands = (dst, 2, position, lhs, *here)
            if combines:
                operands += (rhs, 0, position)
                tail += (word_of(*share),) if averages else ()
            machine.launch("coll_reduce" if combines else "coll_transfer",
                           *operands, *tail)
        part = left[distance + begin : distance + begin + size]
        if combines:
            part = kind.combine(part, right[begin : begin + size], share)
        expected = bytes([GUARD]) * (2 * distance + begin) + part
        machine.expect(memory, start, expected,
                       f"{count} of {chunks} chunks of {segment} by {blocks} blocks")


def main():
    target, block_size, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    element, reduction = (sys.argv[4:] + ["f32", "sum"][len(sys.argv) - 4 :])[:2]
    kind = KINDS[element]
    source = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        library, names = load(target, block_size, path, element, reduction, folder)
        machine = Machine(library, block_size)
        check_loops(machine, names, kind, source)
        check_geometry(machine, False, False, kind, source)
        if "coll_reduce" in names:
            averages = "coll_average" in names
            check_geometry(machine, True, averages, kind, source)
    print(f"{', '.join(names)}: {machine.cases} cases right")


if __name__ == "__main__":
    main()
