# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages plans and compares what two readers say of each.

usage: plan-readers.py READER.py SEED MUTANTS FILE.sccl...

Hashes are made anew, so that readers look at what they cover. Each mutant goes
to READER.py, in this process, and to sccl explain --contents. Prints how many mutants each
kind of damage made and how many were accepted, and fails if the two differ.
"""

import hashlib
import pathlib
import random
import re
import struct
import sys
import tempfile

from second_reader import Comparison, load


class Plan:
    def __init__(self, data):
        self.data = bytearray(data)
        self.text_end = 80 + struct.unpack_from("<Q", data, 16)[0]
        self.head_end = self.text_end + struct.unpack_from("<Q", data, 24)[0]
        self.ranks = int(re.search(r'"ranks":(\d+)', self.text())[1])

    def text(self):
        return self.data[80 : self.text_end].decode()

    def set_text(self, text):
        """Pads it to the length that was there; leaves it if it is too long."""
        text = text.rstrip(" ").encode()
        room = self.text_end - 80
        if len(text) <= room:
            self.data[80 : self.text_end] = text.ljust(room)

    def part(self, rank):
        return struct.unpack_from("<QQ", self.data, self.text_end + 64 * rank + 16)

    def seal(self):
        for rank in range(self.ranks):
            begin, size = self.part(rank)
            at = self.text_end + 64 * rank + 32
            if at + 32 <= self.head_end:
                self.data[at : at + 32] = hashlib.sha256(self.data[begin : begin + size]).digest()
        self.data[48:80] = hashlib.sha256(self.data[:48] + self.data[80 : self.head_end]).digest()


def other(rng, number):
    return rng.choice([0, 1, 2, -1, number - 1, number + 1, number * 2, 1 << 14, 1 << 28, 1 << 32, 10**20])


def change_number(rng, plan):
    text = plan.text()
    match = rng.choice(list(re.finditer(r"(?<=:)\d+", text)))
    plan.set_text(text[: match.start()] + str(other(rng, int(match[0]))) + text[match.end() :])
    plan.seal()


def change_word(rng, plan):
    text = plan.text()
    match = rng.choice(list(re.finditer(r'"[^"]*"|true|false', text)))
    word = rng.choice(['""', '"x"', "true", "false", "null", "7", '"\\u0041"', '"\x7f"', '"\\n"', "[]", "{}", "1.0"])
    plan.set_text(text[: match.start()] + word + text[match.end() :])
    plan.seal()


def drop_field(rng, plan):
    text = plan.text()
    match = rng.choice(list(re.finditer(r'"\w+":("[^"]*"|\w+),', text)))
    plan.set_text(text[: match.start()] + text[match.end() :])
    plan.seal()


def repeat_field(rng, plan):
    text = plan.text().rstrip(" ")
    match = rng.choice(list(re.finditer(r'"\w+":\d,', text)))
    name = re.search(r'"generator":"([^"]*)"', text)
    text = text[: match.start()] + match[0] + text[match.start() :]
    plan.set_text(text.replace(name[1], name[1][: -len(match[0])]))
    plan.seal()


def change_byte_of_text(rng, plan):
    at = rng.randrange(80, 80 + len(plan.text().rstrip(" ")))
    plan.data[at] = rng.choice(b' 0:,"[]{}\t\x00\xff')
    plan.seal()


def change_index(rng, plan):
    at = rng.randrange(plan.text_end, plan.head_end - 3, 4)
    (number,) = struct.unpack_from("<I", plan.data, at)
    struct.pack_into("<I", plan.data, at, other(rng, number) % (1 << 32))
    plan.data[48:80] = hashlib.sha256(plan.data[:48] + plan.data[80 : plan.head_end]).digest()


def change_part(rng, plan):
    begin, size = plan.part(rng.randrange(plan.ranks))
    if size < 4:
        return
    at = begin + rng.randrange(0, size - 3, 4)
    (number,) = struct.unpack_from("<I", plan.data, at)
    struct.pack_into("<I", plan.data, at, other(rng, number) % (1 << 32))
    plan.seal()


def change_header(rng, plan):
    at = rng.choice([0, 8, 12, 16, 24, 32, 40])
    (number,) = struct.unpack_from("<I", plan.data, at)
    struct.pack_into("<I", plan.data, at, other(rng, number) % (1 << 32))
    plan.data[48:80] = hashlib.sha256(plan.data[:48] + plan.data[80 : plan.head_end]).digest()


def change_any_byte(rng, plan):
    plan.data[rng.randrange(len(plan.data))] ^= 1 << rng.randrange(8)


def cut(rng, plan):
    del plan.data[rng.randrange(len(plan.data)) :]


def no_damage(rng, plan):
    plan.seal()


KINDS = [change_number, change_word, drop_field, repeat_field, change_byte_of_text, change_index, change_part,
         change_header, change_any_byte, cut, no_damage]


def accepts(reader, data):
    try:
        reader.read_plan(bytes(data))
    except reader.Refused:
        return False
    return True


def main(reader_path, seed, mutants, *paths):
    reader, rng = load(reader_path), random.Random(int(seed))
    plans = [pathlib.Path(path).read_bytes() for path in paths]
    comparison = Comparison()
    with tempfile.TemporaryDirectory() as folder:
        mutant = pathlib.Path(folder) / "mutant.sccl"
        for i in range(int(mutants)):
            plan = Plan(rng.choice(plans))
            kind = KINDS[i % len(KINDS)]
            kind(rng, plan)
            mutant.write_bytes(plan.data)
            own = accepts(reader, plan.data)
            if not comparison.agree(kind, f"{kind.__name__} {i}", own, ["sccl", "explain", "--contents", mutant]):
                pathlib.Path("differs.sccl").write_bytes(plan.data)
                return 1
    comparison.report()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
