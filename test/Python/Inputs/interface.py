# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the package's tables with sccl.h: interface.py HEADER."""
import pathlib
import re
import sys

from sccl import _library, tool

text = open(sys.argv[1]).read()


types = re.search(r"typedef enum scclDataType.*?\{(.*?)\}", text, re.S)[1]
numbers = dict(re.findall(r"scclF?([A-Za-z0-9]+) = (\d+)", types))
letters = {"Int": "i", "Uint": "u", "loat": "f", "Bfloat": "bf"}
found = [""] * len(numbers)
for name, number in numbers.items():
    word, bits = re.match(r"(Int|Uint|loat|Bfloat)(.*)", name).groups()
    found[int(number)] = letters[word] + bits
assert found == _library.DATA_TYPES, found
reductions = re.search(r"typedef enum scclRedOp.*?\{(.*?)\}", text, re.S)[1]
found = [name.lower() for name in re.findall(r"sccl(\w+) =", reductions)]
assert found == _library.REDUCTIONS, found
functions = re.findall(r"SCCL_API scclResult (\w+)\(([^;]*)\);", text, re.S)
for name, parameters in functions:
    if name in _library._SIGNATURES:
        count = len(parameters.split(","))
        assert count == len(_library._SIGNATURES[name]), name
missing = set(_library._SIGNATURES) - {name for name, _ in functions}
assert not missing, missing
code = int(re.search(r"SCCL_VERSION_CODE (\d+)", text)[1])
version = f"{code // 10000}.{code // 100 % 100}.{code % 100}"
sys.path.append(str(pathlib.Path(sys.argv[1]).parents[2] / "python"))
import wheelhouse  # noqa: E402

assert version == wheelhouse.version() == _library.version() == tool.version(), version
count = len(_library._SIGNATURES)
print(f"{count} functions, {len(numbers)} types, {len(reductions.split(','))} reductions: as in sccl.h")
