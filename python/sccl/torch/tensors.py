# ===- tensors.py - What plans need to know of tensors ----------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Types, reductions and memory of tensors."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from .._library import DATA_TYPES, REDUCTIONS
from .work import BackendError

_NAMES = {
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
}
#: torch's types to the numbers of libsccl's; torch 1.13 lacks some.
ELEMENTS = {
    getattr(torch, name): DATA_TYPES.index(short)
    for name, short in _NAMES.items()
    if hasattr(torch, name)
}
_BYTE = DATA_TYPES.index("u8")
_OPS = {"SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max", "AVG": "avg"}


def _kind(op: Any) -> Any:
    return getattr(op, "op", op)


#: torch's reductions to the numbers of libsccl's.
REDUCE_OPS = {
    _kind(getattr(dist.ReduceOp, name)): REDUCTIONS.index(short)
    for name, short in _OPS.items()
    if hasattr(dist.ReduceOp, name)
}
#: Of bool: a sum is true where one is, a product where all are.
_OF_BOOL = {"sum": "max", "prod": "min", "min": "min", "max": "max"}


def reduction_of(op: Any) -> Optional[int]:
    """The number of a reduction; None if no plan can have it."""
    return REDUCE_OPS.get(_kind(op))


def element_of(tensor: torch.Tensor, op: Any) -> Union[str, Tuple[int, int, int]]:
    """The element type that plans know, how many of them an element is, and the
    reduction, -1 for none; or why there is none. What is only moved is moved as bytes,
    if its type is not known."""
    element = ELEMENTS.get(tensor.dtype)
    if op is None:
        return (_BYTE, tensor.element_size(), -1) if element is None else (element, 1, -1)
    reduction = reduction_of(op)
    if reduction is None:
        return "no plan has this reduction"
    if element is not None:
        return element, 1, reduction
    name = REDUCTIONS[reduction]
    if tensor.dtype == torch.bool and name in _OF_BOOL:
        return _BYTE, 1, REDUCTIONS.index(_OF_BOOL[name])
    real = {torch.complex64: torch.float32, torch.complex128: torch.float64}
    if tensor.dtype in real and name in ("sum", "avg"):
        return ELEMENTS[real[tensor.dtype]], 2, reduction
    return f"no plan reduces {tensor.dtype}"


def _is_channels_last(tensor: torch.Tensor) -> bool:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    kind = formats.get(tensor.dim())
    return kind is not None and tensor.is_contiguous(memory_format=kind)


def check_tensor(
    what: str, tensors: Sequence[torch.Tensor], count: int, in_any_order: bool = False
) -> None:
    """Raises torch's kind of error if these are not `count` contiguous tensors, or,
    where elements may be in any order that is the same on all ranks, images."""
    check_list(what, tensors, count)
    for tensor in tensors:
        if tensor.layout is torch.strided and not (
            tensor.is_contiguous() or (in_any_order and _is_channels_last(tensor))
        ):
            raise BackendError(
                f"sccl: {what}: a tensor of shape {tuple(tensor.shape)} and strides "
                f"{tuple(tensor.stride())} is not contiguous; pass tensor.contiguous()"
            )


def check_list(what: str, tensors: Sequence[torch.Tensor], count: int) -> None:
    """Raises torch's kind of error if these are not `count` tensors. Those that do not lie
    in a row are copied, so they may have gaps, as gloo's and NCCL's may."""
    if len(tensors) != count:
        raise BackendError(f"sccl: {what}: {len(tensors)} tensors, expected {count}")


def same_kind(tensor: torch.Tensor, parts: Sequence[torch.Tensor]) -> Optional[str]:
    """None if all have the length, type and device of `tensor`, else what differs."""
    for part in parts:
        if part.numel() != tensor.numel():
            return f"tensors have {tensor.numel()} and {part.numel()} elements"
        if part.dtype != tensor.dtype or part.device != tensor.device:
            return "tensors differ in type or device"
    return None


def flat_view(
    parts: Sequence[torch.Tensor], fill: bool
) -> Tuple[torch.Tensor, Optional[Callable[[], None]]]:
    """One tensor with the elements of all parts, one after the other, and what copies
    them back: the memory of the parts, and None, if they follow each other there."""
    first = parts[0]
    address, follow = first.data_ptr(), True
    for part in parts:
        follow = follow and part.is_contiguous() and part.data_ptr() == address
        address += part.numel() * part.element_size()
    total = sum(part.numel() for part in parts)
    base: Any = first._base
    # torch passes complex tensors as views of floats, which count in other units.
    alike = base is not None and base.dtype == first.dtype
    if follow and alike and base.is_contiguous():
        at = first.storage_offset() - base.storage_offset()
        if at + total <= base.numel():
            return base.detach().view(-1)[at : at + total], None
    flat = torch.empty(total, dtype=first.dtype, device=first.device)
    pieces: List[torch.Tensor] = list(flat.split([part.numel() for part in parts]))
    if fill:
        for piece, part in zip(pieces, parts):
            piece.copy_(part.detach().reshape(-1))
        return flat, None

    def copy_back() -> None:
        with torch.no_grad():
            for piece, part in zip(pieces, parts):
                part.copy_(piece.view(part.shape))

    return flat, copy_back


def _in_place(collective: str, rank: int, segment: int) -> int:
    """The bytes from where a rank receives to where it sends, if both are one buffer."""
    if collective in ("all_gather", "gather"):
        return rank * segment
    return -rank * segment if collective in ("reduce_scatter", "scatter") else 0


def apart(
    collective: str,
    rank: int,
    send: Optional[torch.Tensor],
    recv: Optional[torch.Tensor],
    segment: int,
) -> Optional[torch.Tensor]:
    """What to send: `send`, or a copy of it where it overlaps `recv` other than in
    place. Plans do not take that, but other backends do. `segment` is in bytes."""
    if send is None or recv is None or send is recv:
        return send
    ahead = send.data_ptr() - recv.data_ptr()
    if not -send.numel() * send.element_size() < ahead < recv.numel() * recv.element_size():
        return send
    return send if ahead == _in_place(collective, rank, segment) else send.clone()
