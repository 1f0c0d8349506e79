#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts MLIR's clean-up passes between all passes of a pipeline, and compares.

usage: cleanup.py FILE PIPELINE

Runs the pipeline on FILE with sccl-opt: as it is, and with canonicalize, cse, sccp,
loop-invariant-code-motion and symbol-dce before, between and after those of its
passes that have ops of sccl before them. Fails unless both give the same, up to the
order of constants. Then cleans up between all of its passes, MLIR's too, after which
loops may look different, but nothing may fail.
"""
import difflib
import re
import subprocess
import sys

CLEANUP = "canonicalize,cse,sccp,loop-invariant-code-motion"
MODULES = "builtin.module", "gpu.module"
OURS = r"coll|convert-coll|convert-kernel"
CONSTANT = r"\s*(%\w+) = ((?:arith|llvm\.mlir)\.(?:constant|addressof).*)"


def run(file, pipeline, *options):
    command = ["sccl-opt", file, f"-pass-pipeline={pipeline}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{done.stderr}")
    return done


def split(text):
    """The passes of a pipeline that are joined by commas, outside all brackets."""
    depth, passes = 0, [""]
    for c in text:
        depth += (c in "({<[") - (c in ")}>]")
        if c == "," and depth == 0:
            passes.append("")
        else:
            passes[-1] += c
    return [one.strip() for one in passes]


def clean(one, everywhere):
    """Pass or pipeline `one`, with the clean-up passes between what it holds."""
    name, _, rest = one.partition("(")
    if not rest or "{" in name:
        return one
    between = CLEANUP + ",symbol-dce" * (name in MODULES)
    inner = []
    for each in split(rest.rstrip()[:-1]):
        if everywhere or re.match(OURS, each):
            inner.append(between)
        inner.append(clean(each, everywhere))
    return f"{name}({','.join(inner + [between])})"


def inline(text):
    """IR in which constants stand where they are used; values have new numbers."""
    lines, values = [], {}
    for line in text.splitlines():
        if constant := re.fullmatch(CONSTANT, line):
            values[constant[1]] = f"<{constant[2]}>"
            continue
        for name in re.findall(r"%\w+", line.partition(" = ")[0]):
            values[name] = f"%{len(lines)}.{len(values)}"
        lines.append(re.sub(r"%\w+", lambda m: values.get(m[0], m[0]), line) + "\n")
    return lines


def main():
    file, pipeline = sys.argv[1:]
    dumped = run(
        file, f"builtin.module({pipeline})", "-dump-pass-pipeline", "-o", "/dev/null"
    ).stderr
    # The dump has options that are not given, too, but those cannot be read back.
    plain = re.sub(r"[\w-]+=(?=[ }])", "", dumped.partition(":\n")[2].strip())
    cleaned = clean(plain, everywhere=False)
    plain = f"{plain[:-1]},{CLEANUP},symbol-dce)"
    results = [inline(run(file, passes).stdout) for passes in (plain, cleaned)]
    sys.stdout.writelines(difflib.unified_diff(*results, "plain", "cleaned"))
    run(file, clean(plain, everywhere=True), "-o", "/dev/null")
    sys.exit(results[0] != results[1])


main()
