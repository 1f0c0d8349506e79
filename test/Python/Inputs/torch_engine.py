# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engine of torch's backend, without torch: ranks are threads, and a dictionary is their
store. torch_engine.py PLAN"""
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
from sccl.torch.store import WatchedStore  # noqa: E402

SUM = ("all_reduce", -1, _library.DATA_TYPES.index("f32"), 0, "float32")


class Store:
    """As torch's TCPStore, which takes no larger values."""

    most = 8 << 20

    def __init__(self):
        self.values, self.counts, self.lock = {}, {}, threading.Lock()

    def set(self, key, value):
        assert len(value) <= self.most, f"{key}: {len(value)} bytes"
        self.values[key] = value.encode() if isinstance(value, str) else value

    def get(self, key):
        while key not in self.values:
            threading.Event().wait(0.001)
        return self.values[key]

    def add(self, key, number):
        with self.lock:
            self.counts[key] = self.counts.get(key, 0) + number
            return self.counts[key]


def large_values(store):
    watched = WatchedStore(0, 1, store, 20)
    for size in 0, 1, 4 << 20, 9 << 20, 12 << 20:
        watched.set(f"{size} bytes", b"x" * size)
        assert watched.get(f"{size} bytes") == b"x" * size, size
    print("values of any size")


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


large_values(Store())
print("plan:", *sccl.Plan(sys.argv[1]).targets)
store = Store()
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for line in zip(*pool.map(main, range(2), [store] * 2)):
        print("ranks:", *line, sep=" | ")
