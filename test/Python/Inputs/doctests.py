# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the examples in the docstrings of the package; torch's are not looked at."""
import doctest
import importlib
import pathlib

import sccl

failed = attempted = 0
for file in sorted(pathlib.Path(sccl.__file__).parent.glob("*.py")):
    if file.stem in {"__init__", "torch"}:
        continue
    module = importlib.import_module(f"sccl.{file.stem}")
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    failed, attempted = failed + found.failed, attempted + found.attempted
found = doctest.testmod(sccl, optionflags=doctest.ELLIPSIS)
failed, attempted = failed + found.failed, attempted + found.attempted
print(f"{attempted} examples, {failed} failed")
raise SystemExit(failed > 0)
