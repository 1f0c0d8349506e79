#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds what tests link with kernels that call NCCL's device functions.

usage: build.py device TEST-FOLDER OUT.ll
       build.py run TEST-FOLDER OUT-FOLDER SOURCE-FOLDER
       build.py link KERNELS.ll OUT-FOLDER

- device: NCCL's device functions on a simulated network, for NVPTX.
- run: the simulated network, the launcher of lib/NCCL and a program that compares
  results, as objects.
- link: makes OUT-FOLDER/run of those and kernels. Kernels and device functions, which
  are linked as for NVPTX, so that parameters are passed as there, are compiled for this
  machine: registers and barriers of NVPTX become calls.
"""
import os
import re
import shutil
import subprocess
import sys


def tool(name):
    for each in f"{name}-22", name:
        if shutil.which(each):
            return each
    sys.exit(f"{name} is not in PATH")


def run(*command):
    subprocess.run(command, check=True)


def device(test, out):
    inputs = os.path.join(test, "Inputs")
    flags = "-std=c++20 -O1 --target=nvptx64-nvidia-cuda -march=sm_90 -nogpulib"
    # Without a CUDA installation clang takes PTX too old for the architecture.
    flags += " -Xclang -target-feature -Xclang +ptx78"
    flags += " -ffreestanding -fno-exceptions -Wno-return-type-c-linkage -S -emit-llvm"
    # The code that only reads a word of memory of its own stays as it is.
    includes = [f"-I{inputs}", f"-I{inputs}/include"]
    source = os.path.join(inputs, "device.cpp")
    run(tool("clang++"), *flags.split(), *includes, source, "-o", out)


def objects(test, out, source):
    inputs = os.path.join(test, "Inputs")
    folders = [inputs, f"{inputs}/include", f"{source}/include", f"{source}/lib/NCCL"]
    files = [f"{inputs}/sim.cpp", f"{inputs}/run.cpp", f"{source}/lib/NCCL/sccl-nccl.cpp"]
    for file in files:
        target = os.path.join(out, os.path.basename(file)[:-4] + ".o")
        flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter"]
        flags += ["-Werror", *(f"-I{folder}" for folder in folders)]
        run(tool("clang++"), *flags, "-c", file, "-o", target)


CHANGES = [
    (r"^target (triple|datalayout).*$", ""),
    (r"\bptx_kernel ", ""),
    (r"@llvm\.nvvm\.read\.ptx\.sreg\.tid\.x", "@sim_tid"),
    (r"@llvm\.nvvm\.read\.ptx\.sreg\.ctaid\.x", "@sim_ctaid"),
    (r"(void) @llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all\(i32( 0)?\)", r"\1 @sim_barrier()"),
    (r'"target-(cpu|features)"="[^"]*"', ""),
    # Who polls a flag lets others run.
    (r"^(.* load atomic i64.* acquire.*)$", r"\1\n  call void @sim_yield()"),
]


def to_host(file, out):
    text = open(file).read()
    for pattern, new in CHANGES:
        text = re.sub(pattern, new, text, flags=re.M)
    if "@sim_yield" in text and "declare void @sim_yield" not in text:
        text += "\ndeclare void @sim_yield()\n"
    open(out, "w").write(text)


def link(kernels, out):
    place = lambda name: os.path.join(out, name)
    to_host(kernels, place("kernels.ll"))
    to_host(place("device.ll"), place("device.host.ll"))
    run(tool("llvm-link"), place("kernels.ll"), place("device.host.ll"), "-o", place("all.bc"))
    clang = tool("clang++")
    run(clang, "-O1", "-Wno-override-module", "-c", "-x", "ir", place("all.bc"), "-o", place("all.o"))
    parts = [place(f"{name}.o") for name in ["all", "sim", "run", "sccl-nccl"]]
    run(clang, *parts, "-rdynamic", "-ldl", "-pthread", "-o", place("run"))


{"device": device, "run": objects, "link": link}[sys.argv[1]](*sys.argv[2:])
