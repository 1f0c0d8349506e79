#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the functions that some PTX declares with those that other PTX defines: nvlink
does not.

usage: prototypes.py KERNELS.ptx DEVICE.ptx

Prints a line for each function that the first file declares: how it is passed what.
"""
import re
import sys


def functions(file, keyword):
    found = {}
    text = open(file).read()
    for result, name, parameters in re.findall(
        rf"^\.{keyword} \.func\s+(\([^)]*\)\s*)?(\w+)\s*\((.*?)\)", text, flags=re.M | re.S
    ):
        types = re.sub(r"(?:\w+_param_\d+|func_retval0)", "", result + parameters)
        found[name] = " ".join(types.split())
    return found


declared = functions(sys.argv[1], "extern")
defined = functions(sys.argv[2], "visible")
assert declared, "no function is declared"
for name in sorted(declared):
    if defined.get(name) == declared[name]:
        print(f"the same: {name}")
    else:
        print(f"differs: {name}: {declared[name]} here, {defined.get(name)} there")
