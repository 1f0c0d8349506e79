//===- Boxes.h - Several boxes as one machine -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_BOXES_H
#define SCCL_MACHINE_BOXES_H

#include "sccl/Machine/Machine.h"

namespace sccl {

/// "gpu3", or in a machine of several boxes "gpu1.3" for the one in box 1.
std::string vertexName(std::string_view stem, unsigned number, unsigned box,
                       unsigned numBoxes);

/// A NIC that joins its box to others, and its GB/s.
using NetworkPort = std::pair<unsigned, Quantity>;

/// Joins the NICs that `machine` has in several boxes: NIC i of each box
/// through a switch "rail<i>" of its own, or all through one switch "core".
/// Neither blocks. `kind` is that of the cables, as "IB". Fails where a name is
/// taken or the machine gets too large.
std::optional<Error>
joinBoxes(Machine &machine, const std::vector<std::vector<NetworkPort>> &ports,
          bool hasRails, const std::string &kind);

} // namespace sccl

#endif // SCCL_MACHINE_BOXES_H
