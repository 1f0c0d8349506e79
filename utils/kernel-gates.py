#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what the speed of compiled kernels depends on, and compares it with bars.

usage: kernel-gates.py [--ptxas=PATH] [--program=FILE.mlir] FILE.ptx|FILE.s...

The files are what `sccl compile` writes. Prints a table for each; fails if a
gate does not hold or if a file holds no kernel. docs/KernelQuality.md explains
the gates. Registers are only known where there is a ptxas, and the order of
signals and waits only for PTX. Assembly does not tell steps; the program that it
was compiled from, which `sccl-opt -sccl-lower` prints, does.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from cycles import cycles
from lowered_program import channels_over, read_limits, read_program

ABI = pathlib.Path(__file__).resolve().parents[1] / "include/sccl/ABI"
# The names of helpers, by what they are for.
NAMES = dict(
    re.findall(r'char \*(\w+) = "(\w+)";', (ABI / "HelperNames.h").read_text())
)
# Loads before the first store.
LOOPS = {NAMES["copy"]: 8, NAMES["reduceElements"]: 4}
SWITCH_LOOPS = {name + NAMES["switchSuffix"]: bar for name, bar in LOOPS.items()}
LL_LOOPS = re.compile("(%s)_[pm]+(_|$)" % "|".join(LOOPS))
CHUNKS = NAMES["transfer"], NAMES["reduce"]
PAYLOAD = *LOOPS, *SWITCH_LOOPS, *CHUNKS, *(n + NAMES["switchSuffix"] for n in CHUNKS)
# What the rows of a table stand for, by the low bits of their first word, and
# where things stand in a table; see include/sccl/ABI/RankTable.h.
HELPERS = [NAMES[name] for name in ("transfer", "reduce", "signal", "wait")]
TERMS, SWITCH = len(HELPERS) + 16, len(HELPERS) + 24
UNIT_WORDS, ROW_UNITS, HEADER_UNITS = 4, 4, 2
TYPE_BITS = re.compile(r"\.(?:v(\d))?\.?b?[bufs](\d+)(x2)?$")
GCN_BYTES = {"dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}
MAX_REGISTERS, MAX_VGPRS = 64, 128  # two blocks of 512 threads


class Function:
    def __init__(self, name, is_kernel):
        self.name, self.is_kernel = name, is_kernel
        self.code = []  # (opcode, operands)
        self.labels = {}
        self.raw = []

    def count(self, pattern, code=None):
        code = self.code if code is None else code
        return sum(bool(re.match(pattern, op)) for op, _ in code)

    def loops(self):
        """The code of each innermost loop: a backward jump with none inside."""
        spans = []
        for at, (op, operands) in enumerate(self.code):
            target = self.labels.get(operands.split(",")[0].strip())
            if re.match(r"bra|s_branch|s_cbranch", op) and target is not None:
                if target <= at:
                    spans.append((target, at))
        inner = [
            (a, b)
            for a, b in spans
            if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in spans)
        ]
        return [self.code[a : b + 1] for a, b in inner]

    def successors(self, at):
        op, operands = self.code[at]
        if re.match(r"ret|exit|trap|s_setpc|s_endpgm", op):
            return []
        target = self.labels.get(operands.split(",")[0].strip())
        if not re.match(r"bra|s_branch|s_cbranch", op) or target is None:
            return [at + 1]
        always = op == "s_branch" or op == "bra.uni"
        return [target] if always else [at + 1, target]

    def rounds(self):
        """The code of each outermost loop, once: what can come to itself again."""
        size = len(self.code)
        after = [[to for to in self.successors(at) if to < size] for at in range(size)]
        return cycles(after)


def parse(text, is_ptx):
    functions, current = {}, None
    header = re.compile(
        r"(?:\.visible )?\.(entry|func)\b(?:\s*\(.*?\))? *(\w+)\(?$"
        if is_ptx
        else r"(?!\.L)(\w+)():$"
    )
    for line in text.splitlines():
        line = re.split(r"//|;$|\s;" if is_ptx else r";", line)[0].rstrip()
        match = header.match(line)
        if match:
            name = match[2] if is_ptx else match[1]
            current = Function(name, match[1] == "entry")
            functions[name] = current  # a body replaces its declaration
            continue
        if current is None or not line.strip():
            continue
        if re.match(r"\}|\.Lfunc_end", line):
            current = None
            continue
        label = re.match(r"\s*([$.]L\w+):\s*", line)
        if label:
            current.labels[label[1]] = len(current.code)
            line = line[label.end() :]
        word = re.match(r"\s+(?:@!?%\w+\s+)?(\w[\w.:]*)\s*(.*)", line)
        if word:
            current.code.append((word[1], word[2].rstrip(";")))
            current.is_kernel |= word[1] == "s_endpgm"
    return functions


def access(op):
    """("load" or "store", bytes) if `op` may reach memory of a peer."""
    match = re.match(r"(?:multimem\.)?(ld|st)(?:_reduce)?\.(?!param|local|shared)", op)
    if match:
        bits = TYPE_BITS.search(op)
        size = int(bits[1] or 1) * int(bits[2]) * (2 if bits[3] else 1) // 8
        return {"ld": "load", "st": "store"}[match[1]], size
    match = re.match(r"(?:global|flat|buffer)_(load|store)_(\w+)", op)
    if match:
        return match[1], GCN_BYTES.get(match[2], 1)
    return None


class Report:
    def __init__(self):
        self.failed = self.gates = 0

    def gate(self, name, where, value, bar, holds):
        self.gates += 1
        self.failed += not holds
        print(f"  {name:3} {where:24} {value:22} {bar:22} {'ok' if holds else 'FAILED'}")


def loop_name(name):
    """Without the reduction, where code has several."""
    return name.split(NAMES["choiceMark"])[0]


def main_loop(function):
    def weight(loop):
        return sum(access(op)[1] for op, _ in loop if access(op))

    return max(function.loops(), key=weight, default=[])


def check_loop(report, function, is_ptx):
    """K1, K2, K3. What a switch reduces by narrower instructions, for want of others,
    counts in units of 16 bytes."""
    loop = main_loop(function)
    accesses = [access(op) for op, _ in loop if access(op)]
    narrow = [access(op)[1] for op, _ in loop if op.startswith("multimem.ld_reduce")]
    if narrow and max(narrow) < 16:
        loads = [("load", 16)] * (sum(narrow) // 16)
        accesses = loads + [(kind, size) for kind, size in accesses if kind == "store"]
    total = sum(size for _, size in accesses)
    wide = sum(size for _, size in accesses if size == 16)
    share = 100 * wide // total if total else 0
    kinds = [kind for kind, size in accesses if size == 16]
    first = kinds.index("store") if "store" in kinds else 0
    # On gfx9 the second half of an addition in 64 bits has a carry.
    pattern = r"(add|sub|mad\.lo)\.[su]64" if is_ptx else r"v_addc_co|v_lshl_add_u64"
    adds, pairs = function.count(pattern, loop), kinds.count("store")
    name = function.name
    report.gate("K1", name, f"{share} % in 16 bytes", "100 %", share == 100)
    bar = (LOOPS | SWITCH_LOOPS)[loop_name(name)]
    report.gate("K2", name, f"{first} loads first", f">= {bar}", first >= bar)
    ratio = adds / pairs if pairs else 99
    report.gate("K3", name, f"{adds} adds, {pairs} stores", "<= 1.5 each", ratio <= 1.5)


MAX_PER_BYTE, MIN_UNDER_WAY = 1.5, 64


def word_bytes(op, operands, is_ptx):
    """Bytes of LL words that `op` accesses several at a time, or 0."""
    if is_ptx:
        return 16 if re.match(r"(ld|st)\.relaxed\.sys\.global\.v2\.b64", op) else 0
    coherent = re.search(r"sc0 sc1|\bglc\b", operands) or op.startswith("global_store")
    return 8 if coherent and re.match(r"global_(load|store)_dwordx2", op) else 0


def check_words(report, function, is_ptx):
    """K11: of the loop that handles most LL words at once."""
    code = function.code
    words = [word_bytes(*each, is_ptx) for each in code]
    loop = max(function.rounds(), key=lambda loop: sum(words[i] for i in loop), default=[])

    # A block of instructions ends where control may go elsewhere.
    starts = set(function.labels.values())
    blocks = [[]]
    for at in loop:
        if at in starts or blocks[-1] and function.successors(blocks[-1][-1]) != [at]:
            blocks.append([])
        blocks[-1].append(at)
    # One that looks at the abort word comes in few of the polls.
    def looks_at_abort(block):
        loads = [i for i in block if access(code[i][0]) and access(code[i][0])[0] == "load"]
        return len(loads) == 1 and access(code[loads[0]][0])[1] == 8 and (
            words[loads[0]] == 8 or ".relaxed" in code[loads[0]][0]
        )

    blocks = [block for block in blocks if not looks_at_abort(block)]
    def at_once(kind):
        return max(
            sum(words[i] for i in block if words[i] and access(code[i][0])[0] == kind)
            for block in blocks
        )

    loop = [i for block in blocks for i in block]
    # LL words have twice the bytes of their data.
    loads = [i for i in loop if (access(code[i][0]) or [""])[0] == "load"]
    data = sum(words[i] // 2 or access(code[i][0])[1] for i in loads)
    letters = re.search(r"_([pm]+)(_|$)", function.name)[1]
    for kind, has in (("load", "p" in letters[1:]), ("store", letters[0] == "p")):
        if has:
            value = f"{at_once(kind)} bytes, {kind}s"
            holds = at_once(kind) >= MIN_UNDER_WAY
            report.gate("K11", function.name, value, f">= {MIN_UNDER_WAY} at once", holds)
    # In PTX moves between registers only name them, and those of 64 bits are pairs.
    # Waves have a unit of their own for scalars.
    pattern = r"(?!mov\.\w+ .*[%{].*%|cvt\.u32\.u64|cvt\.u64\.u32)" if is_ptx else "v_|global_"
    count = sum(bool(re.match(pattern, " ".join(code[i]))) for i in loop)
    ratio = count / data if data else 99
    value = f"{count} ops, {data} bytes"
    report.gate("K11", function.name, value, f"<= {MAX_PER_BYTE} each", ratio <= MAX_PER_BYTE)


def read_tables(text):
    """The words of the table of each rank that the text brings."""
    result = {}
    pattern = r"\.b32 \w+_table_rank(\d+)\[\d+\] = \{([^}]*)\}"
    for rank, data in re.findall(pattern, text):
        result[int(rank)] = [int(word) for word in data.split(",")]
    return result


def rows_of(table, first, count):
    """The helpers that rows of a table stand for, with their flags. A transfer that
    is repeated stands for as many."""
    rows = []
    for row in range(count):
        word = (first + row * ROW_UNITS) * UNIT_WORDS
        kind = table[word] & 0x1F
        has_terms = TERMS <= kind < SWITCH
        if kind >= SWITCH:
            kind -= SWITCH
        elif kind >= len(HELPERS):  # bit 3 tells that LL words are reduced
            kind = int(has_terms or (kind - len(HELPERS)) >> 3)
        is_flag = HELPERS[kind] in (NAMES["signal"], NAMES["wait"])
        if is_flag:
            rows.append((HELPERS[kind], table[word + 2]))
        else:
            rows += [(HELPERS[kind], 0)] * (1 if has_terms else table[word + 3])
    return rows


def channels_of_table(table):
    """What each channel of a rank executes, in order: helper and number of flags."""
    count = table[2] * max(table[6], 1)  # of channels and steps
    entries = [(HEADER_UNITS + i) * UNIT_WORDS for i in range(count)]
    return [rows_of(table, table[at], table[at + 1]) for at in entries]


def channels(kernel):
    """What each channel of a kernel calls, in order: helper and number of flags.
    What comes before the first launch is counted comes first."""
    parameters, result = {}, [[]]
    for op, operands in kernel.code:
        words = operands.split(", ")
        if op.startswith("st.param"):
            parameters[words[0]] = words[1]
        match = re.search(NAMES["prefix"] + r"\w+", operands) if op.startswith("call") else None
        if not match:
            continue
        if match[0] == NAMES["begin"]:
            result.append([])
        is_flag = match[0] in (NAMES["signal"], NAMES["wait"])
        # With LL words or without, of several terms or not, by a switch or not.
        suffix = "(_[pm]+)?(%s|%s)?$" % (NAMES["termsSuffix"], NAMES["switchSuffix"])
        helper = re.sub(suffix, "", match[0])
        result[-1].append((helper, int(parameters["[param1]"]) if is_flag else 0))
    return result


class StepCounts:
    """How often the blocks of all kernels stop for flags, at most: releases
    after one group of transfers, releases before any, waits before a group;
    and how many flags one of them is for."""

    def __init__(self, kernels, tables):
        self.releases = self.opening = self.waits = self.flags = 0
        self.moves = 0
        blocks = [channels_of_table(table) for table in tables.values()]
        blocks = blocks or [channels(kernel) for kernel in kernels]
        for calls in (calls for block in blocks for calls in block):
            self.count(calls)

    def count(self, calls):
        signalled = waited = 0
        moved = False
        for helper, flags in calls + [("", 0)]:
            self.flags = max(self.flags, flags)
            if helper in (NAMES["transfer"], NAMES["reduce"], ""):
                if moved:
                    self.releases = max(self.releases, signalled)
                else:
                    self.opening = max(self.opening, signalled)
                self.waits = max(self.waits, waited)
                self.moves += helper != ""
                moved, signalled, waited = True, 0, 0
            signalled += helper == NAMES["signal"]
            waited += helper == NAMES["wait"]


def check_program(report, kernels, text, program):
    """K4 for each block and step, and that the kernels signal as often."""
    ranks = read_program(program)
    most = max(
        (channel.count(step) for rank in ranks.values() for channel in rank for step in channel),
        default=0,
    )
    report.gate("K4", "program", f"{most} for a block's step", "<= 1", most <= 1)
    tables = read_tables(text)
    found = {rank: channels_of_table(table) for rank, table in tables.items()}
    for kernel in kernels if not tables else []:
        rank = int(re.search(r"_rank(\d+)$", kernel.name)[1])
        found[rank] = channels(kernel)[1:]
    odd = []
    for rank, calls in found.items():
        expected = sorted(len(channel) for channel in ranks.pop(rank, []))
        helpers = [[helper for helper, _ in one] for one in calls]
        if sorted(one.count(NAMES["signal"]) for one in helpers) != expected:
            odd.append(f"rank {rank}")
    odd += [f"rank {rank}" for rank in ranks]
    value = f"{len(odd)} ranks differ"
    report.gate("K4", "program", value, "0", not odd)


def check_under_way(report, text, program):
    """K9: what fills a limit is what it carries while a byte loads and travels."""
    size = re.search(r"\.maxntid (\d+)|\.max_flat_workgroup_size: +(\d+)", text)
    each = MIN_UNDER_WAY if re.search(r"coll\.program .* ll\b", program) else 8 * 16
    blocks, least = channels_over(program), None
    for limit, rate, time in read_limits(program):
        used = sum(blocks.get(link, 0) for link in limit)
        if used:
            has, needs = used * int(size[1] or size[2]) * each, rate * 1e3 * time
            least = min(least or (has / needs, has, needs), (has / needs, has, needs))
    if not least:
        print(f"  K9  {'fullest limit':24} not measured: no clock says what blocks load")
    else:
        ratio, has, needs = least
        value = f"{has / 1024:.0f} KiB under way"
        report.gate("K9", "fullest limit", value, f">= {needs / 1024:.0f} KiB", ratio >= 1)


def check_steps(report, kernels, text):
    """K4 and K5 for the kernels."""
    tables = read_tables(text)
    steps = StepCounts(kernels, tables)
    value = f"{steps.releases} after a step"
    report.gate("K4", "kernels", value, "<= 1", steps.releases <= 1)
    value = f"{steps.opening} before the first"
    report.gate("K4", "kernels", value, "<= 1", steps.opening <= 1)
    value = f"{steps.waits} waits for a step"
    report.gate("K5", "kernels", value, "<= 1", steps.waits <= 1)
    shape = "a table" if tables else "unrolled"
    print(f"      {steps.moves} transfers, {shape}; up to {steps.flags} flags at once")


def check_protocol(report, functions, text, is_ptx, program):
    """K4, K5, K6, K8."""
    release = r"st\.release|fence\.|membar" if is_ptx else r"global_store"
    barrier = r"bar\.|barrier\." if is_ptx else r"s_barrier"
    poll = r"ld\.(acquire|relaxed|volatile)" if is_ptx else r"buffer_(inv|wbinv)|s_sleep"
    kernels = [f for f in functions.values() if f.is_kernel]
    data = [f for name, f in functions.items() if loop_name(name) in PAYLOAD]
    if NAMES["signal"] in functions:
        signal, wait = functions[NAMES["signal"]], functions[NAMES["wait"]]
        count = signal.count(release)
        report.gate("K4", NAMES["signal"], f"{count} release", "1", count == 1)
        if is_ptx:
            check_steps(report, kernels, text)
            if program:
                check_program(report, kernels, text, program)
        count = signal.count(barrier), wait.count(barrier)
        value = f"{count[0]} + {count[1]} barriers"
        report.gate("K5", "signal + wait", value, "<= 2", sum(count) <= 2)
    count = sum(f.count(barrier) + f.count(poll) for f in data)
    report.gate("K5", "payload", f"{count} barriers, polls", "0", count == 0)
    weak = r".*\.nc\b|ldu|.*\.(gpu|cta)\b|atom|red\." if is_ptx else r".*_atomic_"
    count = sum(f.count(weak) for f in functions.values())
    report.gate("K6", "all", f"{count} weak flags, caches", "0", count == 0)
    divide = r"(div|rem)\." if is_ptx else r"v_rcp|v_div"
    loops = sum(f.count(divide, loop) for f in functions.values() for loop in f.loops())
    everywhere = sum(f.count(divide) for f in functions.values())
    value = f"{loops} in loops, {everywhere} in all"
    report.gate("K8", "all", value, "0 in loops", loops == 0)


def check_registers(report, path, text, ptxas, most):
    """K7, by ptxas."""
    if not ptxas:
        print(f"  K7  {'kernels':24} not measured: there is no ptxas")
        return
    chip = re.search(r"\.target (\w+)", text)[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [ptxas, "-v", f"-arch={chip}", str(path), "-o", folder + "/x.cubin"]
        result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        print(f"  K7  {'kernels':24} not measured: ptxas does not accept {chip}")
        return
    used = [int(n) for n in re.findall(r"Used (\d+) registers", result.stderr)]
    spills = [int(n) for n in re.findall(r"(\d+) bytes spill", result.stderr)]
    value = f"{max(used)} registers"
    report.gate("K7", "kernels", value, f"<= {most}", max(used) <= most)
    report.gate("K7", "kernels", f"{sum(spills)} spill bytes", "0", sum(spills) == 0)


def check_gcn(report, functions, text):
    """A: what the notes of the assembler say, and the waits of a signal."""
    def largest(key):
        values = [int(n) for n in re.findall(rf"\.{key}:\s+(\d+)", text)]
        if not values:
            sys.exit(f"kernel-gates: the file has no .{key}")
        return max(values)

    vgprs, lds = largest("vgpr_count"), largest("group_segment_fixed_size")
    spills = largest("vgpr_spill_count") + largest("sgpr_spill_count")
    report.gate("A", "kernels", f"{vgprs} VGPRs", f"<= {MAX_VGPRS}", vgprs <= MAX_VGPRS)
    report.gate("A", "kernels", f"{spills} spills, {lds} bytes LDS", "0, 0", spills + lds == 0)
    signal = functions.get(NAMES["signal"])
    if signal and "--gfx906" not in text and "--gfx908" not in text:
        ops = [op + " " + args for op, args in signal.code]
        end = next(i for i, op in enumerate(ops) if op.startswith("s_barrier"))
        before, behind = (
            sum(op.startswith("buffer_wbl2") for op in part) for part in (ops[:end], ops[end:])
        )
        joined = ops[end - 1].startswith("s_waitcnt vmcnt(0)")
        value = f"{before} + {behind} write-backs, {'wait' if joined else 'no wait'}"
        holds = (before, behind) == (1, 1) and joined
        report.gate("A", NAMES["signal"], value, "1 + 1, wait", holds)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--registers", type=int, default=MAX_REGISTERS)
    options = parser.parse_args()
    program = options.program.read_text() if options.program else None
    failed = 0
    for path in options.files:
        text, is_ptx = path.read_text(), path.suffix == ".ptx"
        functions = parse(text, is_ptx)
        chip = re.search(r"\.target (\w+)" if is_ptx else r"--(gfx\w+)", text)
        kernels = sum(f.is_kernel for f in functions.values())
        if not kernels or not chip or not any(n.startswith(NAMES["copy"]) for n in functions):
            print(f"kernel-gates: {path} holds no kernel of sccl")
            return 1
        print(f"{path.name}: {kernels} kernels for {chip[1]}")
        report = Report()
        for name in functions:
            if loop_name(name) in LOOPS | SWITCH_LOOPS:
                check_loop(report, functions[name], is_ptx)
            if LL_LOOPS.match(loop_name(name)):
                check_words(report, functions[name], is_ptx)
        if not report.gates:
            report.gate("K1", "loops", "none", "some", False)
        check_protocol(report, functions, text, is_ptx, program)
        if is_ptx:
            check_registers(report, path, text, options.ptxas, options.registers)
        else:
            check_gcn(report, functions, text)
        if program:
            check_under_way(report, text, program)
        failed += report.failed
    print("all gates hold" if not failed else f"{failed} gates failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
