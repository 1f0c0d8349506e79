# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages certificates and compares what two readers say of each.

usage: two-readers.py READER.py SEED MUTANTS DIR

DIR has X.mlir and X.cert. Each mutant goes to READER.py, in this process, and
to sccl check. Prints how many mutants each kind of damage made and how many
were accepted, and fails if the two ever differ.
"""

import contextlib
import io
import pathlib
import random
import re
import sys

from second_reader import Comparison, load


def change_number(rng, lines):
    places = [(i, m) for i, line in enumerate(lines) for m in re.finditer(r"-?\b\d+\b", line)]
    i, match = rng.choice(places)
    number = int(match[0])
    other = rng.choice([0, 1, -number, number - 1, number + 1, number + 7, number * 2, 10**20])
    lines[i] = lines[i][: match.start()] + str(other) + lines[i][match.end():]


def drop_line(rng, lines):
    del lines[rng.randrange(len(lines))]


def repeat_line(rng, lines):
    i = rng.randrange(len(lines))
    lines.insert(i, lines[i])


def swap_lines(rng, lines):
    i = rng.randrange(len(lines) - 1)
    lines[i], lines[i + 1] = lines[i + 1], lines[i]


def change_word(rng, lines):
    i = rng.randrange(len(lines))
    words = lines[i].split(" ")
    words[rng.randrange(len(words))] = rng.choice(
        ["any", "load", "R/C", "exists", "into", "from", "root", "", "all_reduce", "0->1", "1->0"])
    lines[i] = " ".join(words)


def change_byte(rng, lines):
    i = rng.randrange(len(lines))
    at = rng.randrange(len(lines[i]) + 1)
    lines[i] = lines[i][:at] + rng.choice(" \t0-\x00\xe9") + lines[i][at + rng.randrange(2):]


def no_damage(rng, lines):
    pass


KINDS = [change_number, change_number, change_number, drop_line, repeat_line, swap_lines,
         change_word, change_byte, no_damage]


def accepts(reader, cert, ir):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            reader.main(cert, ir)
    except (reader.Refused, UnicodeDecodeError, SystemExit):
        return False
    return True


def main(reader_path, seed, mutants, folder):
    reader, rng = load(reader_path), random.Random(int(seed))
    certificates = sorted(pathlib.Path(folder).glob("*.cert"))
    comparison = Comparison()
    for _ in range(int(mutants)):
        path = rng.choice(certificates)
        lines = path.read_text().split("\n")[:-1]
        lines[-1] = "end"  # the hash would notice all
        kind = rng.choice(KINDS)
        kind(rng, lines)
        mutant = path.with_suffix(".mutant")
        mutant.write_text("\n".join(lines) + "\n", newline="")
        ir = str(path.with_suffix(".mlir"))
        own = accepts(reader, str(mutant), ir)
        check = ["sccl", "check", ir, f"--certificate={mutant}"]
        if not comparison.agree(kind, f"{path.name}, {kind.__name__}", own, check):
            print(mutant.read_text())
            return 1
    comparison.report()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
