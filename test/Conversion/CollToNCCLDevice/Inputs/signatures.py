#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the functions of NCCL that kernels declare with those that define them.

usage: signatures.py KERNELS.ll DEVICE.ll

Prints a line for each function that the first file declares. What counts is how
parameters are passed: types, byval with the fields of the structure, alignment and
zeroext, not what else clang knows about them.
"""
import re
import sys


def split(text):
    """The parts of a list of parameters."""
    parts, depth, part = [], 0, ""
    for char in text:
        depth += (char in "({[") - (char in ")}]")
        if char == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += char
    return [each.strip() for each in parts + [part] if each.strip()]


def structures(text):
    found = dict(re.findall(r'^(%[\w."$:]+) = type (\{.*\})$', text, flags=re.M))

    def expand(type):
        if type in found:
            type = found[type]
        if not type.startswith("{"):
            return type
        fields = [expand(each) for each in split(type[1:-1].strip())]
        # A structure of one field is passed as that.
        return fields[0] if len(fields) == 1 else "{" + ", ".join(fields) + "}"

    return expand


def parameter(text, expand):
    byval = re.search(r"byval\(((?:[^()]|\([^()]*\))*)\)", text)
    words = [text.split()[0]]
    if byval:
        align = re.search(r"align (\d+)", text).group(1)
        words.append(f"byval({expand(byval.group(1).strip())}) align {align}")
    if re.search(r"\bzeroext\b", text):
        words.append("zeroext")
    return " ".join(words)


def functions(file, keyword):
    text = open(file).read()
    expand = structures(text)
    found = {}
    for line in text.split("\n"):
        match = re.match(rf"{keyword} (.*?)@(nccl\w+)\((.*)", line)
        if match:
            depth, end = 1, 0
            while depth:
                depth += {"(": 1, ")": -1}.get(match[3][end], 0)
                end += 1
            result = match[1].split()[-1]
            parameters = split(match[3][: end - 1])
            found[match[2]] = [result] + [parameter(p, expand) for p in parameters]
    return found


kernels = functions(sys.argv[1], "declare")
device = functions(sys.argv[2], "define")
for name in sorted(kernels):
    if kernels[name] == device.get(name):
        print("the same:", name)
    else:
        print("differs:", name, kernels[name], device.get(name))
