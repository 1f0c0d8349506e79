# ===- __init__.py - The backend of torch.distributed -----------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""``import sccl.torch``, then ``init_process_group("sccl")``.

Collectives execute plans: those of ``SCCL_PLAN_PATH``, and where these cover nothing, for
tensors on the CPU, plans that the tool makes for ranks of one host. What neither covers
falls back to gloo, or to nccl for CUDA tensors, and says so in one line of the logger
"sccl". See docs/Python.md.
"""
import inspect

import torch.distributed as dist

from .group import ProcessGroupSccl

__all__ = ["ProcessGroupSccl"]


def _register() -> None:
    options = {}
    # torch 2 asks for the devices, 1.13 knows none.
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        options["devices"] = ["cpu", "cuda"]
    dist.Backend.register_backend("sccl", ProcessGroupSccl, **options)


if not hasattr(dist.Backend, "SCCL"):
    _register()
