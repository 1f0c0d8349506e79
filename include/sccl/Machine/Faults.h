//===- Faults.h - Machines that have lost something -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_FAULTS_H
#define SCCL_MACHINE_FAULTS_H

#include "sccl/Machine/Machine.h"

namespace sccl {

/// `machine` without what `items` names, joined by commas:
///   link:3-5         the edges between GPUs of ranks 3 and 5, or
///   link:gpu3-nic3
///                    between vertices by name, in both directions
///   gpu:6            the GPU of rank 6, with its edges; ranks after it move up
///   nic:1:2, nic:2   the third NIC of box 1, of box 0, with its edges
///   vertex:switch0   any vertex by its name
/// Ranks are those of `machine`, whatever else is lost. Notes say what is gone.
/// Fails on an item that is not there or cannot be read.
Result<Machine> withoutParts(const Machine &machine, std::string_view items);

/// `machine` with slower edges: items as above, each with the part that is left
/// of its edges' bandwidth, more than 0 and less than 1:
/// "link:3-5=0.5,nic:2=1/4".
Result<Machine> withSlowerParts(const Machine &machine, std::string_view items);

} // namespace sccl

#endif // SCCL_MACHINE_FAULTS_H
