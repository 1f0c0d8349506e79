#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a plan, as docs/PlanFile.md defines the file, and says what is in it.

A second reader, made from that page alone, for those who would rather not
believe the C++. It runs nothing.

usage: read-plan.py FILE.sccl

Prints what the plan computes and what it holds, and exits with 0; or why it is
no plan, and exits with 1.
"""

import hashlib
import json
import re
import struct
import sys

VERSION = 4
FILE_BYTES, MANIFEST_BYTES = 1 << 32, 1 << 24
RANKS, ENTRIES, NAME_BYTES, BLOCKS = 1024, 1 << 14, 512, 64
CHUNKS, PAIRS, SLOTS, COPIES = 1 << 28, 1 << 28, 1 << 24, 1 << 24
SIZE, DEPTH, OBJECTS = 1 << 62, 12, 1 << 15
PAGE, PART, TABLE = 4096, 64, 16
PATHS = ("auto", "direct", "staging")


class Refused(Exception):
    pass


def require(condition, why):
    if not condition:
        raise Refused(why)


def sha256(data):
    return hashlib.sha256(data).digest()


def up(number, multiple):
    return -(-number // multiple) * multiple


# What the fields of the manifest are. A field that ends in "?" may be missing.


def number(least, most):
    def read(value, name):
        require(type(value) is int and least <= value <= most, f"'{name}' is {value}, expected {least} to {most}")

    return read


def flag(value, name):
    require(type(value) is bool, f"'{name}' is neither true nor false")


def true(value, name):
    require(value is True, f"'{name}' is there and not true")


def text(value, name):
    require(type(value) is str, f"'{name}' is no string")
    require(len(value.encode()) <= NAME_BYTES, f"'{name}' has more than {NAME_BYTES} bytes")
    require(not re.search("[\0-\x1f\x7f-\x9f]", value), f"'{name}' has control characters")


def one_of(*words):
    def read(value, name):
        require(value in words, f"'{name}' is {value}, expected one of {words}")

    return read


def sha(value, name):
    require(type(value) is str and re.fullmatch("[0-9a-f]{64}", value), f"'{name}' is no SHA-256")


def order(value, name):
    """A word, or a tree as "((0+1)+2)" with each leaf once."""
    require(type(value) is str, f"'{name}' is no string")
    if value in ("same", "rank", "tree", "left") or re.fullmatch("ring:(0|[1-9][0-9]{0,8})", value):
        return
    leaves = sorted(map(int, re.findall("[0-9]+", value)))
    require(leaves and leaves == list(range(len(leaves))), f"'{name}' is '{value}'")
    rest, shorter = "", re.sub("[0-9]+", "x", value)
    while rest != shorter:
        rest, shorter = shorter, shorter.replace("(x+x)", "x")
    require(rest == "x", f"'{name}' is '{value}'")


def some(item, least=0, most=ENTRIES):
    def read(value, name):
        require(type(value) is list and least <= len(value) <= most, f"'{name}' is no list of {least} to {most}")
        for entry in value:
            item(entry, name)

    return read


def fields(**kinds):
    def read(value, name):
        require(type(value) is dict, f"'{name}' is no object")
        known = {field.rstrip("_"): kind for field, kind in kinds.items()}
        for field in value:
            require(field in known, f"'{name}' has a field '{field}'")
        for field, kind in known.items():
            if field in value:
                kind(value[field], field)
            else:
                require(field + "_" in kinds, f"'{name}' has no '{field}'")

    return read


# The last field is there only where it says something; "_" marks it.
MANIFEST = fields(
    generator=text, collective=text, ranks=number(1, RANKS), root=number(0, RANKS - 1), combining=flag,
    sumOrder_=order,
    oneRounding_=true,
    sendSegments=number(1, CHUNKS),
    conditions_=fields(chunks=number(1, CHUNKS), distinct=number(1, PAIRS)),
    topology=fields(name=text, fingerprint=text),
    schedules=some(fields(
        name=text, chunks=number(1, CHUNKS), chunksPerSegment=number(1, CHUNKS), steps=number(0, (1 << 32) - 1),
        rounds=number(0, (1 << 32) - 1), cost=text), 1),
    programs=some(fields(
        schedule=number(0, ENTRIES), variant=text, codeShape=one_of("unrolled", "table"), blocks=number(1, BLOCKS),
        peersReadInput=flag, peersTouchOutput=flag, inPlace=flag, announcesReady=flag, chunksMoved=number(0, 1 << 40),
        largestTransfer=number(0, 1 << 40),
        transfersAtOnce=number(1, 64),
        steps=number(0, 4096), stepsTouchPeers_=true, switchGroups_=some(number(0, RANKS - 1), 1, RANKS),
        source_=fields(blob=number(0, ENTRIES), schedule=text, way=number(0, 1 << 20))), 1),
    rankTables=number(0, 1 << 10),
    kernels=some(fields(
        program=number(0, ENTRIES), target=text, format=text, element=text, reduction=text, blockSize=number(1, 1024),
        symbols=some(text, 1, RANKS), virtualSymbol=text, blob=number(0, ENTRIES), rankTables_=number(0, 1 << 10))),
    tables=some(fields(
        source=text, target=text, ranksAs=text,
        choices=some(fields(
            firstByte=number(0, SIZE), program=number(0, ENTRIES), path=one_of(*PATHS), pieceBytes=number(0, 1 << 40)), 1),
        times_=some(fields(bytes=number(0, SIZE), nanoseconds=number(0, SIZE), bound_=number(1, SIZE)), 1))),
    blobs=some(fields(offset=number(0, FILE_BYTES), bytes=number(0, FILE_BYTES), sha256=sha)),
)


def no_constant(word):
    raise Refused(f"the manifest has {word}")


def measure(value):
    """The depth of nests and the number of objects in a value."""
    if type(value) not in (dict, list):
        return 0, 0
    inner = [measure(item) for item in (value.values() if type(value) is dict else value)]
    return 1 + max((d for d, _ in inner), default=0), (type(value) is dict) + sum(n for _, n in inner)


def read_manifest(data):
    try:
        written = data.decode().rstrip(" ")
        manifest = json.loads(written, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the manifest is no JSON: {error}")
    MANIFEST(manifest, "manifest")
    depth, objects = measure(manifest)
    require(depth <= DEPTH and objects <= OBJECTS, "the manifest nests too deep or has too many objects")
    spelled = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    require(written == spelled, "the manifest is written in another way than plans are")
    check_references(manifest)
    return manifest


def check_references(manifest):
    """What one field says about another."""
    ranks, programs = manifest["ranks"], manifest["programs"]
    require(manifest["root"] < ranks, "the root is no rank")
    if "conditions" in manifest:
        require(manifest["conditions"]["distinct"] <= PAIRS // ranks, "there are too many chunks")
    for schedule in manifest["schedules"]:
        require(schedule["chunksPerSegment"] <= schedule["chunks"], "a segment has more chunks than a buffer")
    for program in programs:
        require(program["schedule"] < len(manifest["schedules"]), "a program of no schedule")
        require(program.get("source", {"blob": -1})["blob"] < len(manifest["blobs"]), "a program without its source")
    require(sum(program["steps"] for program in programs) <= ENTRIES, "programs have too many steps")
    for kernel in manifest["kernels"]:
        require(kernel["program"] < len(programs), "a kernel of no program")
        require(kernel["blob"] < len(manifest["blobs"]), "a kernel without code")
        require(len(kernel["symbols"]) in (1, ranks), "symbols of some ranks only")
        require(kernel.get("rankTables", -1) < manifest["rankTables"], "a kernel without its tables")
    for table in manifest["tables"]:
        first = [choice["firstByte"] for choice in table["choices"]]
        require(first[0] == 0 and all(a < b for a, b in zip(first, first[1:])), "sizes do not ascend from 0")
        times = [time["bytes"] for time in table.get("times", [])]
        require(all(a < b for a, b in zip(times, times[1:])), "sizes of times do not ascend")
        for choice in table["choices"]:
            require(choice["program"] < len(programs), "a choice of no program")


class Bytes:
    """Reads numbers from the front."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, count):
        require(count <= len(self.data) - self.at, f"{self.what} is too short")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def align(self, multiple):
        require(not any(self.take(up(self.at, multiple) - self.at)), f"{self.what} has padding that is not zero")

    def end(self):
        require(self.at == len(self.data), f"{self.what} is too long")


def read_index(data, manifest):
    reader = Bytes(data, "the index of ranks")
    layouts, parts, needs = [], [], []
    for _ in range(manifest["ranks"]):
        sends, receives, offset, has_offset, begin, size = reader.numbers("IIiIQQ")
        require(max(sends, receives, abs(offset)) <= CHUNKS and has_offset <= 1, "a rank has no such buffers")
        require(has_offset or offset == 0, "an offset in place, and no form in place")
        layouts.append((sends, receives))
        parts.append((begin, size, reader.take(32)))
    for _ in manifest["programs"]:
        needs.append([reader.numbers("IIQ") for _ in layouts])
        for channels, slots, control in needs[-1]:
            require(channels <= ENTRIES and slots <= SLOTS and control <= 1 << 32, "a program needs too much")
    reader.end()
    return layouts, parts, needs


def read_copies(reader, rank, program, per_segment, layouts, needs):
    """What the host of `rank` copies in the steps of a program."""
    (count,) = reader.numbers("I")
    require(count <= COPIES, "a rank has too many copies")
    last = 0
    for _ in range(count):
        step, src, src_slot, peer, dst, dst_slot, position, chunks = reader.numbers("8I")
        require(last <= step < program["steps"], "copies are not in the order of steps")
        require(src <= 2 and dst <= 2 and peer < len(layouts), "a copy between no buffers")
        require(position < per_segment and 1 <= chunks <= per_segment - position, "a copy leaves its segment")
        require(dst != 0, "a copy goes to a send buffer")
        require(dst != 1 or peer == rank or program["peersTouchOutput"], "a copy to a buffer that peers leave alone")
        for owner, buffer, slot in ((rank, src, src_slot), (peer, dst, dst_slot)):
            slots = needs[owner][1] if buffer == 2 else per_segment * layouts[owner][buffer]
            require(slot + chunks <= slots, "a copy leaves its buffer")
            require(buffer == 2 or slot % per_segment == position, "a copy has two positions in a segment")
        last = step


def read_part(data, rank, manifest, layouts, needs):
    reader = Bytes(data, f"the part of rank {rank}")
    for _ in range(manifest["rankTables"]):
        (size,) = reader.numbers("Q")
        reader.align(TABLE)
        reader.take(size)
    for program, own in zip(manifest["programs"], needs):
        if program["steps"]:
            per_segment = manifest["schedules"][program["schedule"]]["chunksPerSegment"]
            read_copies(reader, rank, program, per_segment, layouts, own)
    if "conditions" in manifest:
        for segments in layouts[rank]:
            (count,) = reader.numbers("I")
            require(count == segments, "chunks differ from the buffers")
            chunks = reader.numbers(f"{count}I")
            require(all(a < b for a, b in zip(chunks, chunks[1:])), "chunks do not ascend")
            require(not chunks or chunks[-1] < manifest["conditions"]["distinct"], "a chunk that does not exist")
    reader.end()


def read_plan(data):
    """The manifest of the plan in `data`."""
    head = Bytes(data, "the plan")
    require(head.take(8) == b"SCCLPLAN", "it does not begin with SCCLPLAN")
    version, flags, manifest_bytes, index_bytes, file_bytes, zero = head.numbers("IIQQQQ")
    require(version == VERSION, f"its format version is {version}")
    require(file_bytes == len(data) <= FILE_BYTES, "it has another length than it says")
    require(manifest_bytes <= MANIFEST_BYTES, "its manifest is too long")
    digest = head.take(32)
    manifest_text, index = head.take(manifest_bytes), head.take(index_bytes)
    require(sha256(data[:48] + manifest_text + index) == digest, "its head does not have its hash")
    require(flags == 0 and zero == 0, "it has unknown flags")
    manifest = read_manifest(manifest_text)
    layouts, parts, needs = read_index(index, manifest)
    end = head.at
    ranges = [(blob["offset"], blob["bytes"], bytes.fromhex(blob["sha256"]), PAGE) for blob in manifest["blobs"]]
    for begin, size, expected, multiple in ranges + [(*part, PART) for part in parts]:
        require(begin == up(end, multiple), "blobs and parts do not follow each other")
        require(begin + size <= len(data), "a blob or part goes beyond the end")
        require(not any(data[end:begin]), "there is something between blobs and parts")
        require(sha256(data[begin : begin + size]) == expected, "a blob or part does not have its hash")
        end = begin + size
    require(end == len(data), "there is something after the last part")
    for rank, (begin, size, _) in enumerate(parts):
        read_part(data[begin : begin + size], rank, manifest, layouts, needs)
    return manifest


def main(path):
    with open(path, "rb") as file:
        manifest = read_plan(file.read())
    targets = sorted({kernel["target"] for kernel in manifest["kernels"]})
    print(
        f"{path}: accepted: {manifest['collective']}, {manifest['ranks']} ranks, "
        f"{len(manifest['schedules'])} schedules, {len(manifest['programs'])} programs, for {', '.join(targets)}"
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except (Refused, OSError) as error:
        sys.exit(f"{sys.argv[1]}: refused: {error}")
