# ===- doctor.py - What this host has ---------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""``python -m sccl.doctor``: what this host has for sccl, and what is missing.

One line for each thing, with OK, "--" for what is optional and not there, and MISSING.
The exit code is 1 if something is missing. ``--peers`` says why GPUs do not reach each
other over PCIe, of this host or by files with texts of another one (`peers`).
"""
from __future__ import annotations

import argparse
import array
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from typing import Callable, List, Tuple

from . import _library, peers, shelf, tool
from ._library import Error
from .ranks import run_threads

Finding = Tuple[str, str, str]  #: state, name, and what there is to say


def _library_there() -> Finding:
    return "OK", "libsccl", f"{_library.library()._name}, {_library.version()}"


def _tool_there() -> Finding:
    path = _library.tool()
    if path is None:
        return "--", "tool", "no sccl in PATH: only plans of SCCL_PLAN_PATH can be used"
    return "OK", "tool", f"{path}, {tool.run('--version')[1].strip()}"


def _cores() -> Finding:
    cores = len(os.sched_getaffinity(0))
    return "OK", "cores", f"{cores}; more ranks than that take turns"


def _copies() -> Finding:
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    value = scope.read_text().strip() if scope.exists() else "0"
    if value == "0" or os.geteuid() == 0:
        return "OK", "copies", "the system copies between processes (process_vm_readv)"
    return (
        "--",
        "copies",
        f"kernel.yama.ptrace_scope is {value}: processes copy through memory of their own",
    )


def _module(name: str, use: str) -> Finding:
    try:
        module = __import__(name)
    except ImportError:
        return "--", name, f"not installed: {use}"
    return "OK", name, str(module.__version__)


def _numpy() -> Finding:
    return _module("numpy", "Communicator.empty returns bytes; other buffers work")


def _torch() -> Finding:
    found = _module("torch", "no backend for torch.distributed")
    if found[0] != "OK":
        return found
    import torch

    if not torch.distributed.is_available():
        return "--", "torch", f"{found[2]}, without torch.distributed"
    return "OK", "torch", f"{found[2]}; import sccl.torch, then backend='sccl'"


def _gpus() -> Finding:
    for name in ("libcuda.so.1", "libamdhip64.so"):
        try:
            ctypes.CDLL(name)
            return "OK", "GPU driver", name
        except OSError:
            continue
    return "--", "GPU driver", "neither libcuda.so.1 nor libamdhip64.so"


#: What each MPI says of itself, and where that tells that it takes memory of GPUs.
_MPI = {
    "openmpi": (("ompi_info", "--parsable", "--all"), "mpi_built_with_cuda_support:value:true"),
    "mpich": (("mpichversion",), "--with-cuda"),
}


def _takes_gpus(name: str) -> bool:
    command, sign = _MPI[name]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return sign in told.stdout


def _mpi() -> Finding:
    found = [
        name + (" with CUDA" if _takes_gpus(name) else "")
        for name in _MPI
        if shutil.which(f"mpirun.{name}")
    ]
    return ("OK" if found else "--"), "MPI", ", ".join(found) or "no mpirun"


def _ucx() -> Finding:
    """Has two ranks be on two hosts."""
    name = "SCCL_RANKS_PER_HOST"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        run_threads(2, lambda comm: None)
    except Error as error:
        return "--", "UCX", f"ranks of several hosts need MPI: {error}"
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
    return "OK", "UCX", "libsccl-ucx carries messages between hosts without MPI"


def _nccl() -> Finding:
    asked = os.environ.get("SCCL_NCCL_LIBRARY")
    names = [asked] if asked else ["libnccl.so.2", "librccl.so.1"]
    for name in names:
        try:
            version, library = ctypes.c_int(), ctypes.CDLL(name)
            known = library.ncclGetVersion(ctypes.byref(version)) == 0
            # libsccl-nccl has NCCL's name and functions, too; 2.10 is 21000.
            if known and version.value >= 21000 and not hasattr(library, "scclGetVersion"):
                major, rest = divmod(version.value, 10000)
                text = f"{name} {major}.{rest // 100}.{rest % 100}"
                return "OK", "NCCL", f"{text} sends between GPUs of several hosts"
        except (OSError, AttributeError):
            continue
    return "--", "NCCL", f"no NCCL in {' or '.join(names)}: GPUs of several hosts need MPI"


def _plans() -> Finding:
    path = os.environ.get("SCCL_PLAN_PATH")
    if not path:
        why = shelf.can_make()
        if why:
            return "--", "plans", f"SCCL_PLAN_PATH is not set, and {why}"
        return "OK", "plans", f"made when they are needed, in {shelf.cache_folder()}"
    names = [
        f"{plan.collective} of {plan.ranks} for {' and '.join(plan.targets)}"
        for plan in shelf.read_plans(path)
    ]
    if not names:
        return "--", "plans", "SCCL_PLAN_PATH names no files"
    return "OK", "plans", f"SCCL_PLAN_PATH has {', '.join(names)}"


def _all_reduce() -> Finding:
    plan = shelf.Plan(shelf.host_plan("all_reduce", 2))

    def main(comm):
        comm.load(plan)
        mine = array.array("f", [comm.rank, 1.0])
        comm.all_reduce(mine)
        return mine.tolist()

    sums = run_threads(2, main)
    if sums != [[1.0, 2.0]] * 2:
        return "MISSING", "all_reduce", f"the sums are {sums}"
    return "OK", "all_reduce", "two ranks have the right sums"


#: With the name that a check has if it fails.
CHECKS: List[Tuple[str, Callable[[], Finding]]] = [
    ("libsccl", _library_there),
    ("tool", _tool_there),
    ("plans", _plans),
    ("cores", _cores),
    ("copies", _copies),
    ("numpy", _numpy),
    ("torch", _torch),
    ("GPU driver", _gpus),
    ("MPI", _mpi),
    ("UCX", _ucx),
    ("NCCL", _nccl),
]


def findings() -> List[Finding]:
    """What each check has found."""
    found = []
    checks = list(CHECKS)
    if shelf.can_make() is None:
        checks.append(("all_reduce", _all_reduce))
    for name, check in checks:
        try:
            found.append(check())
        except Exception as error:
            found.append(("MISSING", name, str(error)))
    return found


def _peers(files: List[str]) -> List[Finding]:
    """Raises OSError or ValueError for a file that cannot be read or is none."""
    if not files:
        texts = peers.texts_of_this_host()
        why = "this host has neither lspci nor nvidia-smi; give files with what they print"
        return peers.findings(texts) if texts else [("--", "peers", why)]
    return peers.findings(
        (file, pathlib.Path(file).read_text(errors="replace")) for file in files
    )


def main() -> int:
    arguments = argparse.ArgumentParser(
        prog="python3 -m sccl.doctor",
        description="Print what this host has for sccl, and what is missing.",
    )
    arguments.add_argument(
        "--peers",
        nargs="*",
        metavar="FILE",
        help="say why GPUs do not reach each other; files are of another host, with what "
        "lspci -vvv or nvidia-smi topo -p2p r prints, or /proc/cmdline",
    )
    files = arguments.parse_args().peers
    try:
        found = findings() if files is None else _peers(files)
    except (OSError, ValueError) as error:
        print(f"sccl.doctor: error: {error}", file=sys.stderr)
        return 2
    for state, name, text in found:
        print(f"{state:8}{name:12}{text}")
    return int(any(state == "MISSING" for state, _, _ in found))


if __name__ == "__main__":
    # A reader that has enough, such as head, ends it without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
