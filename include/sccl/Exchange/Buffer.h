//===- Buffer.h - The buffers of a rank -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_BUFFER_H
#define SCCL_EXCHANGE_BUFFER_H

#include "sccl/Model/Program.h"

namespace sccl::exchange {

/// In files i, o and s.
using Buffer = ProgramBuffer;

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_BUFFER_H
