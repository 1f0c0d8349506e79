# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a node does that has libsccl, this package and plans, but no tool: torch_engine.py PLAN.
It executes what torch's backend does, without torch: ranks are threads, and a dictionary
is their store."""
import concurrent.futures
import pathlib
import sys
import threading
import types

import sccl
from sccl import _library

# Importing sccl.torch would import torch, which its engine does not need.
package = sys.modules["sccl.torch"] = types.ModuleType("sccl.torch")
package.__path__ = [str(pathlib.Path(sccl.__file__).parent / "torch")]
from sccl.torch.engine import Engine  # noqa: E402

SUM = ("all_reduce", -1, _library.DATA_TYPES.index("f32"), 0, "float32")


class Store:
    def __init__(self):
        self.values, self.counts, self.lock = {}, {}, threading.Lock()

    def set(self, key, value):
        self.values[key] = value.encode() if isinstance(value, str) else value

    def get(self, key):
        while key not in self.values:
            threading.Event().wait(0.001)
        return self.values[key]

    def add(self, key, number):
        with self.lock:
            self.counts[key] = self.counts.get(key, 0) + number
            return self.counts[key]


def main(rank, store):
    engines = [
        Engine(rank, 2, store, 20, device, rank * (device == "cuda"), must_fit=True)
        for device in ("cpu", "cuda")
    ]
    for engine in engines:
        engine.compare("the same words")
    found = [engine.why_not(SUM) or "a plan" for engine in engines]
    for engine in engines:
        engine.destroy()
    return found


print("plan:", *sccl.Plan(sys.argv[1]).targets)
store = Store()
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for line in zip(*pool.map(main, range(2), [store] * 2)):
        print("ranks:", *line, sep=" | ")
