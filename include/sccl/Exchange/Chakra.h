//===- Chakra.h - Execution traces for simulators ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chakra's traces, which ASTRA-sim takes as custom algorithms: of each rank its
// sends, receives and computations, and which come after which. Sizes are in
// the file; data is not.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_CHAKRA_H
#define SCCL_EXCHANGE_CHAKRA_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Program.h"
#include "sccl/Model/Result.h"

namespace sccl::exchange {

/// By rank, the trace of `program`, of a schedule of `collective` with or
/// without pieces, for send buffers of `bytes`. Sends and receives that belong
/// together have a tag of their own. Reductions take no time. Fails for
/// user-defined collectives and if a chunk has no byte.
Result<std::vector<std::string>>
toChakra(const Collective &collective, const Program &program, uint64_t bytes);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_CHAKRA_H
