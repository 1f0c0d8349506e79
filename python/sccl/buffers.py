# ===- buffers.py - Addresses of arrays and tensors -------------------------===#
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""Where the elements of arrays and tensors are; nothing is copied."""
from __future__ import annotations

import ctypes as c
import dataclasses
import sys
from typing import Any, Optional

from ._library import SIZES, InvalidArgument

#: Of array interfaces: kind and bytes.
_KINDS = {"i1": "i8", "u1": "u8", "b1": "u8", "i4": "i32", "u4": "u32", "i8": "i64"}
_KINDS.update({"u8": "u64", "f2": "f16", "f4": "f32", "f8": "f64"})
#: Of the buffer protocol.
_FORMATS = {"b": "i", "h": "i", "i": "i", "l": "i", "q": "i", "e": "f", "f": "f"}
_FORMATS.update({"B": "u", "c": "u", "?": "u", "H": "u", "I": "u", "L": "u", "Q": "u"})
_FORMATS["d"] = "f"
#: Names of dtypes, of torch and ml_dtypes, that are called otherwise here.
_NAMES = {
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
    "int64": "i64",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "u8",
}


@dataclasses.dataclass(frozen=True)
class Buffer:
    """Elements in memory. ``owner`` keeps it alive."""

    address: Optional[int]
    count: int
    type: Optional[str]  #: None if the object does not say
    item_bytes: int
    read_only: bool
    owner: Any = None
    is_bool: bool = False
    device: Optional[str] = None  #: torch's word for where it is, if that is known

    def check_device(self, device: str) -> None:
        """Raises InvalidArgument unless ranks on `device`, libsccl's word, may use it."""
        there = "cuda" if device == "hip" else device
        if self.device not in (None, there):
            raise InvalidArgument(f"a tensor on {self.device!r} among ranks on {device!r}")


NONE = Buffer(None, 0, None, 1, False)


def _of_interface(value: Any) -> Buffer:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        # Its interface is that of an array which is gone by now.
        raise InvalidArgument(f"{type(value).__name__} is a scalar, not an array")
    if numpy is not None and isinstance(value, numpy.ma.MaskedArray):
        raise InvalidArgument("the array is masked; pass its data, or its filled()")
    interface = value.__array_interface__
    if interface.get("strides") is not None:
        raise InvalidArgument("the array is not contiguous")
    count = 1
    for extent in interface["shape"]:
        count *= extent
    kind = interface["typestr"]
    if kind.startswith(">"):
        raise InvalidArgument(f"the array has the byte order of {kind!r}")
    if kind[1] in "OUmM":
        raise InvalidArgument(f"elements of the array are of {kind!r}")
    name = _NAMES.get(str(getattr(value, "dtype", "")), _KINDS.get(kind[1:]))
    address, read_only = interface["data"]
    size, is_bool = int(kind[2:]), kind[1] == "b"
    return Buffer(address, count, name, size, read_only, value, is_bool)


#: What a tensor may be whose memory has other values than it.
_UNLIKE = {
    "is_quantized": "is quantized; pass its int_repr()",
    "is_conj": "is to be conjugated; pass its resolve_conj()",
    "is_neg": "is to be negated; pass its resolve_neg()",
    "_is_zerotensor": "has no memory yet; pass its clone()",
}


def _of_tensor(value: Any) -> Buffer:
    if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
        raise InvalidArgument(f"a tensor of {value.layout} is not dense")
    for name, why in _UNLIKE.items():
        flag = getattr(value, name, False)
        if flag() if callable(flag) else flag:
            raise InvalidArgument(f"the tensor {why}")
    if not value.is_contiguous():
        raise InvalidArgument("the tensor is not contiguous")
    kind = str(value.dtype).rpartition(".")[2]
    name, size = _NAMES.get(kind), value.element_size()
    return Buffer(
        value.data_ptr(),
        value.numel(),
        name,
        size,
        False,
        value,
        is_bool=kind == "bool",
        device=getattr(getattr(value, "device", None), "type", None),
    )


def _of_view(value: Any) -> Buffer:
    try:
        view = memoryview(value)
    except TypeError:
        name = type(value).__name__
        raise InvalidArgument(f"{name} is no array, tensor or buffer") from None
    if not view.c_contiguous:  # elements of other ranks are in the order of C
        raise InvalidArgument("the buffer is not contiguous")
    kind = _FORMATS.get(view.format.lstrip("@=<"))
    name = kind and _KINDS.get(f"{kind}{view.itemsize}")
    count, is_bool = view.nbytes // view.itemsize, view.format == "?"
    if count == 0:
        return Buffer(None, 0, name, view.itemsize, view.readonly, value)
    if not view.readonly:
        memory = (c.c_char * view.nbytes).from_buffer(view)
        address = c.addressof(memory)
        return Buffer(address, count, name, view.itemsize, False, memory, is_bool)
    if isinstance(value, bytes):
        address = c.cast(c.c_char_p(value), c.c_void_p).value
        return Buffer(address, count, name, view.itemsize, True, value)
    raise InvalidArgument("a read-only buffer must be bytes or an array")


def buffer_of(value: Any, type: Optional[str] = None) -> Buffer:
    """Where the elements of `value` are: of a NumPy array, a tensor of torch, or any
    object with the buffer protocol. `type` says what they are, where the object does
    not, as for bf16 in an array of bytes.

    >>> import array
    >>> found = buffer_of(array.array("d", [1, 2, 3]))
    >>> found.count, found.type
    (3, 'f64')
    >>> buffer_of(bytearray(8), "bf16").count
    4
    >>> buffer_of([1, 2])
    Traceback (most recent call last):
    ...
    sccl.InvalidArgument: list is no array, tensor or buffer
    """
    if value is None:
        return NONE
    if hasattr(value, "__array_interface__"):
        found = _of_interface(value)
    elif hasattr(value, "data_ptr"):
        found = _of_tensor(value)
    else:
        found = _of_view(value)
    if type is None or type == found.type:
        return found
    if type not in SIZES:
        raise InvalidArgument(f"type is {type!r}, expected {', '.join(SIZES)}")
    size = found.count * found.item_bytes
    if size % SIZES[type]:
        raise InvalidArgument(f"{size} bytes are no whole number of {type}")
    return dataclasses.replace(
        found, count=size // SIZES[type], type=type, item_bytes=SIZES[type]
    )
