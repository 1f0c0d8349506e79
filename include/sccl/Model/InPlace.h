//===- InPlace.h - Send and receive buffers that are one --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_INPLACE_H
#define SCCL_MODEL_INPLACE_H

#include "sccl/Model/Collective.h"

#include <cstdint>
#include <optional>

namespace sccl {

/// Where the buffers of `rank` must lie for chunks that are in both to have one
/// place: that of the send buffer minus that of the receive buffer, in slots,
/// which are whole segments. Nothing if no chunk is in both, or no one offset
/// is right for all that are.
std::optional<int64_t> findInPlaceOffset(const Collective &collective,
                                         unsigned rank);

} // namespace sccl

#endif // SCCL_MODEL_INPLACE_H
