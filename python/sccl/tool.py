# ===- tool.py - Run the command sccl ---------------------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Runs the tool ``sccl`` and reads its JSON."""
from __future__ import annotations

import functools
import json
import re
import subprocess
from typing import Dict, List, Optional, Sequence, Tuple, Union

from . import _library
from ._library import Error

Option = Union[str, int, float, bool, None, Sequence[str]]


def arguments(options: Dict[str, Option]) -> List[str]:
    """Options of the command line. None and False are left out, sequences repeated.

    >>> arguments({"max_steps": 3, "pipelined": True, "root": None, "target": ["host"]})
    ['--max-steps=3', '--pipelined', '--target=host']
    """
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words += [f"{flag}={item}" for item in value]
        else:
            words.append(f"{flag}={value}")
    return words


def run(*words: str, allowed: Sequence[int] = (0,)) -> Tuple[int, str]:
    """Runs ``sccl`` with these words, and returns its exit code and its output.

    Raises Error with what it says if the code is none of `allowed`. The codes are
    0 done, 1 bad input or failed check, 2 proved unsatisfiable, 3 unknown.
    """
    path = _library.tool()
    if path is None:
        raise Error("cannot find the tool sccl; put it in PATH, or set SCCL_TOOL")
    try:
        result = subprocess.run(
            [path, *words], capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise Error(f"cannot run {path}: {error}") from None
    if result.returncode not in allowed:
        text = re.sub(r"^sccl: error: ", "", result.stderr.strip())
        raise Error(text or f"{path} ended with code {result.returncode}")
    return result.returncode, result.stdout


def version() -> str:
    """The version of the tool, as in "0.2.0"."""
    return _version_of(_library.tool())


@functools.lru_cache(maxsize=None)
def _version_of(path: Optional[str]) -> str:
    found = re.match(r"sccl (\d[^\s,]*)", run("--version")[1])
    if not found:
        raise Error(f"{path} is not the tool sccl: it does not say its version")
    return found[1]


def run_json(*words: str, allowed: Sequence[int] = (0,)) -> List[dict]:
    """The same with ``--json``: the objects that it prints, one or more."""
    _, text = run(*words, "--json", allowed=allowed)
    decoder, objects, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        objects.append(value)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return objects
