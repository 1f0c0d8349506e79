# ===- tensors.py - What plans need to know of tensors ----------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Types, reductions and memory of tensors."""
from __future__ import annotations

from typing import (
    Any,
    Callable,
    Dict,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

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
_BYTE, _WIDE = DATA_TYPES.index("u8"), DATA_TYPES.index("i32")
_OPS = {"SUM": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max", "AVG": "avg"}
#: Of bits, each in a byte; a sum has the parity in its lowest bit.
_BIT_OPS = {"BOR": "max", "BAND": "min", "BXOR": "sum"}


def _kind(op: Any) -> Any:
    return getattr(op, "op", op)


def _by_kind(names: Dict[str, str]) -> Dict[Any, int]:
    return {
        _kind(getattr(dist.ReduceOp, name)): REDUCTIONS.index(short)
        for name, short in names.items()
        if hasattr(dist.ReduceOp, name)
    }


#: torch's reductions to the numbers of libsccl's.
REDUCE_OPS, BIT_OPS = _by_kind(_OPS), _by_kind(_BIT_OPS)
_FREE_OPS = [REDUCTIONS.index(name) for name in ("min", "max")]
#: Of bool: a sum is true where one is, a product where all are.
_OF_BOOL = {"sum": "max", "prod": "min", "min": "min", "max": "max"}
_PREMUL_SUM = _kind(getattr(dist.ReduceOp, "PREMUL_SUM", "PREMUL_SUM"))
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
#: Types that no plan reduces, but whose reductions are those of int32, cut off.
_SHORT = [getattr(torch, name) for name in ("int16", "uint16") if hasattr(torch, name)]

Change = Callable[[torch.Tensor], torch.Tensor]


class Form(NamedTuple):
    """As what plans take the elements of a tensor: libsccl's type and reduction, -1 for
    none, and the elements that are sent for one of the tensor. `encode` makes them of a
    flat tensor, where they are not what memory has, and `decode` the result of them."""

    element: int
    reduction: int = -1
    width: int = 1
    encode: Optional[Change] = None
    decode: Optional[Change] = None


def _to_bits(flat: torch.Tensor) -> torch.Tensor:
    """A byte for each bit."""
    places = torch.arange(8, dtype=torch.uint8, device=flat.device)
    flat = flat.as_strided(flat.shape, (1,))  # of one element it may be any
    return ((flat.view(torch.uint8).unsqueeze(-1) >> places) & 1).view(-1)


def _from_bits(bits: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    places = torch.arange(8, dtype=torch.uint8, device=bits.device)
    return ((bits.view(-1, 8) & 1) << places).sum(-1, dtype=torch.uint8).view(kind)


def _bit_form(kind: torch.dtype, op: int) -> Union[str, Form]:
    if kind.is_floating_point or kind.is_complex:
        return f"{kind} has no bits to reduce"
    if kind != torch.bool:
        width = 8 * torch.empty(0, dtype=kind).element_size()
        return Form(_BYTE, op, width, _to_bits, lambda bits: _from_bits(bits, kind))
    if REDUCTIONS[op] != "sum":
        return Form(_BYTE, op)
    return Form(_BYTE, op, 1, lambda t: t.to(torch.uint8), lambda t: (t & 1).bool())


def _scaled_form(kind: torch.dtype, op: Any) -> Union[str, Form]:
    """Of PREMUL_SUM: a sum of what each rank has multiplied by its factor."""
    if kind not in ELEMENTS or not kind.is_floating_point:
        return f"no plan scales {kind}"
    state = op.__getstate__() if hasattr(op, "__getstate__") else None
    if not isinstance(state, tuple):
        return "this version of torch does not tell the factor"
    factor = state[1]
    if isinstance(factor, torch.Tensor):
        factor = factor.to(kind)
    return Form(ELEMENTS[kind], REDUCTIONS.index("sum"), 1, lambda t: t * factor)


def form_of(tensor: torch.Tensor, op: Any) -> Union[str, Form]:
    """As what plans take a tensor; or why they do not. What is only moved is moved as
    bytes, if its type is not known."""
    kind = tensor.dtype
    element = ELEMENTS.get(kind)
    if op is None:
        return Form(_BYTE, -1, tensor.element_size()) if element is None else Form(element)
    if _kind(op) in BIT_OPS:
        return _bit_form(kind, BIT_OPS[_kind(op)])
    reduction = REDUCE_OPS.get(_kind(op))
    if reduction is None and _kind(op) == _PREMUL_SUM:
        return _scaled_form(kind, op)
    if reduction is None:
        return "no plan has this reduction"
    if element is not None:
        return Form(element, reduction)
    name = REDUCTIONS[reduction]
    if kind == torch.bool and name in _OF_BOOL:
        return Form(_BYTE, REDUCTIONS.index(_OF_BOOL[name]))
    if kind in _REAL and name in ("sum", "avg"):
        return Form(ELEMENTS[_REAL[kind]], reduction, 2)
    if kind in _SHORT:
        return Form(
            _WIDE, reduction, 1, lambda t: t.to(torch.int32), lambda t: t.to(kind)
        )
    return f"no plan reduces {kind}"


def depends_on_order(tensor: torch.Tensor, op: Any) -> bool:
    """True if the result of a reduction has other bits in another order."""
    rounds = tensor.is_floating_point() or tensor.is_complex()
    return rounds and REDUCE_OPS.get(_kind(op)) not in _FREE_OPS


def is_plain(tensor: torch.Tensor) -> bool:
    """True if memory has the elements in their order. It has not with gaps, in another
    memory format, and where torch has put off to conjugate, negate or fill them."""
    return (
        tensor.is_contiguous()
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor._is_zerotensor()
    )


Finish = Optional[Callable[[], None]]


def plain(tensors: Sequence[torch.Tensor]) -> Tuple[List[torch.Tensor], Finish]:
    """The same tensors, with copies in place of those that are not plain, and what
    writes these back, if there are any."""
    settled, copies = [], []
    for tensor in tensors:
        if tensor.layout is torch.strided and not is_plain(tensor):
            copy = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            copies.append((tensor, copy.copy_(tensor.detach())))
            tensor = copy
        settled.append(tensor)

    def write_back() -> None:
        with torch.no_grad():
            for tensor, copy in copies:
                tensor.copy_(copy)

    return settled, write_back if copies else None


def both(first: Finish, second: Finish) -> Finish:
    """What does one after the other."""
    if first is None or second is None:
        return first or second

    def run() -> None:
        first()
        second()

    return run


def check_list(
    what: str, tensors: Sequence[torch.Tensor], count: int, dense: bool = True
) -> None:
    """Raises torch's kind of error if these are not `count` tensors that plans, or the
    backend behind them, may know."""
    if len(tensors) != count:
        raise BackendError(f"sccl: {what}: {len(tensors)} tensors, expected {count}")
    for tensor in tensors:
        if dense and tensor.layout is not torch.strided:
            raise BackendError(f"sccl: {what}: a tensor of {tensor.layout} is not dense")
        if tensor.is_quantized:  # its scale is not in its memory
            raise BackendError(
                f"sccl: {what}: a quantized tensor; pass tensor.int_repr()"
            )


def same_length(
    what: str, tensor: torch.Tensor, parts: Sequence[torch.Tensor]
) -> Optional[str]:
    """None if all have the length of `tensor`, else what differs. Raises torch's kind of
    error if they differ in type or device."""
    for part in parts:
        if part.dtype != tensor.dtype or part.device != tensor.device:
            raise BackendError(f"sccl: {what}: tensors differ in type or device")
    for part in parts:
        if part.numel() != tensor.numel():
            return f"tensors have {tensor.numel()} and {part.numel()} elements"
    return None


def padded(parts: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """Flat copies of plain parts, with zeros up to the length of the longest."""
    most = max(part.numel() for part in parts)
    flat = parts[0].new_zeros(len(parts) * most).split(most)
    for row, part in zip(flat, parts):
        row[: part.numel()] = part.detach().reshape(-1)
    return list(flat)


def flat_view(
    parts: Sequence[torch.Tensor], fill: bool
) -> Tuple[torch.Tensor, Finish]:
    """One tensor with the elements of all plain parts, one after the other, and what
    copies them back: the memory of the parts, and None, if they follow each other there."""
    first = parts[0]
    address, follow = first.data_ptr(), True
    for part in parts:
        follow = follow and part.data_ptr() == address
        address += part.numel() * part.element_size()
    total = sum(part.numel() for part in parts)
    base: Any = first._base
    # torch passes complex tensors as views of floats, which count in other units.
    alike = base is not None and base.dtype == first.dtype
    if follow and alike and is_plain(base):
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
