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
import dataclasses
import inspect
from typing import Any, Optional

import torch.distributed as dist

from .group import ProcessGroupSccl
from .work import BackendError

__all__ = ["Options", "ProcessGroupSccl"]


@dataclasses.dataclass
class Options:
    """What ``init_process_group`` and ``new_group`` take as `pg_options`.

    `order` is that of sums, products and averages of floats, as ``sccl plan --order``
    takes it: no plan in another one reduces them, and no other backend. Without it a
    group has that of the first group, which has that of ``SCCL_ORDER``. With
    `one_rounding`, likewise of ``SCCL_ONE_ROUNDING``, those of small floats are rounded
    once, as by ``sccl plan --one-rounding``.
    """

    order: Optional[str] = None
    one_rounding: Optional[bool] = None


def _make(place: Any, options: Any) -> ProcessGroupSccl:
    if not isinstance(options, (Options, type(None))):
        raise BackendError(f"sccl: pg_options are {options!r}, expected sccl.torch.Options")
    options = options or Options()
    first = dist.distributed_c10d._get_default_group() if dist.is_initialized() else None
    return ProcessGroupSccl(
        place.store,
        place.group_rank,
        place.group_size,
        place.timeout,
        options.order or getattr(first, "order", None),
        getattr(first, "one_rounding", None)
        if options.one_rounding is None
        else options.one_rounding,
    )


def _register() -> None:
    options = {"extended_api": True}
    # torch 2 asks for the devices, 1.13 knows none.
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        options["devices"] = ["cpu", "cuda"]
    dist.Backend.register_backend("sccl", _make, **options)


if not hasattr(dist.Backend, "SCCL"):
    _register()
