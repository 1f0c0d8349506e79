# ===- lit.cfg.py - How the lit tests run ------------------------------------===
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===
#
# Features, for REQUIRES: z3 (the z3 engine is built), nvptx and amdgpu (LLVM has
# the back end; for amdgpu also ld.lld), ptxas (in PATH or in /usr/local/cuda), openmpi
# and mpich (the tools are built with it, and mpicc.NAME and mpirun.NAME are in PATH),
# tsan (sccl-execute is built), dot, pkg-config, chromium, mkdocs and groff (in PATH),
# clang-format (14 is in PATH), pip, numpy and torch (some Python has it), clang (of
# LLVM's version), nccl-headers (of 2.28, with nvcc, below NCCL_HOME or beside nvcc), no-gpu
# (neither a GPU nor a driver for one).
#
# ===------------------------------------------------------------------------===

import ctypes
import os
import re
import shutil
import subprocess
import sys

import lit.formats

config.name = "sccl"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Corpus"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.sccl_binary_dir, "test")

# libsccl refuses plans that others may write, also those that tests copy.
os.umask(0o022)

# Tools are found through PATH: ours first, then those of the LLVM we build with.
path = [os.path.join(config.sccl_binary_dir, "bin"), config.llvm_tools_dir]
path += [os.environ["PATH"], "/usr/local/cuda/bin"]
config.environment["PATH"] = os.pathsep.join(path)
# CMake's own choice wants make, which a machine that builds with Ninja need not have.
config.environment["CMAKE_GENERATOR"] = "Ninja"

# libMLIR is not instrumented: memory that our code poisons through LLVM's bump
# allocators would be reported when libMLIR uses it, and what it keeps until the
# end of the process as a leak.
if not config.sccl_sanitize:
    # What sanitizers look at must come first in a program.
    config.available_features.add("preload")
if config.sccl_sanitize:
    config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0:detect_leaks=0"


def find(tool):
    return shutil.which(tool, path=config.environment["PATH"])


if config.sccl_enable_z3:
    config.available_features.add("z3")
if "NVPTX" in config.llvm_targets:
    config.available_features.add("nvptx")
    if find("ptxas"):
        config.available_features.add("ptxas")
if "AMDGPU" in config.llvm_targets and (find("ld.lld-22") or find("ld.lld")):
    config.available_features.add("amdgpu")

if find("clang++-22") or os.path.exists(os.path.join(config.llvm_tools_dir, "clang++")):
    config.available_features.add("clang")
if find("sccl-execute"):
    config.available_features.add("tsan")


def nccl_include():
    """The folder with headers of NCCL 2.28 from 2.28.7 on: that of NCCL_HOME, or beside nvcc."""
    nvcc = find("nvcc")
    if not nvcc or not find("nvlink"):
        return None
    homes = [os.environ.get("NCCL_HOME"), os.path.join(os.path.dirname(nvcc), os.pardir)]
    for home in filter(None, homes):
        include = os.path.join(os.path.realpath(home), "include")
        try:
            with open(os.path.join(include, "nccl.h")) as header:
                code = re.search(r"#define NCCL_VERSION_CODE (\d+)", header.read())
        except OSError:
            continue
        if code and 22807 <= int(code.group(1)) < 22900:
            return include
    return None


if nccl_include():
    config.available_features.add("nccl-headers")
    config.substitutions.append(("%nccl_include", nccl_include()))

for tool in ["dot", "pkg-config", "chromium", "mkdocs", "groff"]:
    if find(tool):
        config.available_features.add(tool)
if find("clang-format-14"):
    config.available_features.add("clang-format")


def can_load(library):
    try:
        return bool(ctypes.CDLL(library))
    except OSError:
        return False


gpus = ["/dev/nvidiactl", "/dev/kfd"]
drivers = ["libcuda.so.1", "libamdhip64.so"]
if not any(map(os.path.exists, gpus)) and not any(map(can_load, drivers)):
    config.available_features.add("no-gpu")

for mpi in ["openmpi", "mpich"]:
    bridge = os.path.join(config.sccl_binary_dir, "lib", f"libsccl-{mpi}.so")
    if os.path.exists(bridge) and find(f"mpicc.{mpi}") and find(f"mpirun.{mpi}"):
        config.available_features.add(mpi)
if os.path.exists(os.path.join(config.sccl_binary_dir, "lib", "libsccl-ucx.so")):
    config.available_features.add("ucx")
# Open MPI wants to be asked before it runs as root, as in a container, or with more
# ranks than cores.
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
config.environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"



def python_with(module):
    """The Python of the tests if it has `module`, else Debian's if that has."""
    for python in [sys.executable, "/usr/bin/python3"]:
        try:
            probe = f"import importlib.util as u; assert u.find_spec('{module}')"
            subprocess.run([python, "-c", probe], check=True, capture_output=True)
            return python
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


for module in ["pip", "numpy", "torch"]:
    if python_with(module):
        config.available_features.add(module)

config.substitutions += [
    ("%torch_python", python_with("torch") or "no-torch"),
    ("%numpy_python", python_with("numpy") or sys.executable),
    ("%pip_python", python_with("pip") or "no-pip"),
    ("%sccl_src", config.sccl_source_dir),
    ("%sccl_build", config.sccl_binary_dir),
    ("%llvm_include", os.path.join(config.llvm_tools_dir, "..", "include")),
    ("%python", sys.executable),
    # %exits N COMMAND...: runs the command; fails unless its exit code is N.
    ("%exits", "/bin/sh " + config.sccl_source_dir + "/utils/exits.sh"),
]
