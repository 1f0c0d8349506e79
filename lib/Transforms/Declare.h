//===- Declare.h - Topologies and collectives that passes add --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass that makes a schedule from schedules may need a topology or collective
// that the module lacks. One that is there already is used as it is, whatever
// its name: else two schedules for the same thing could not be composed, as
// that goes by the name.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_DECLARE_H
#define SCCL_TRANSFORMS_DECLARE_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Topology.h"

#include "mlir/IR/Builders.h"

namespace sccl::coll {

/// The symbol of a topology equal to `topology`: the one that `user` is on if
/// it is, else the first in the module, else a new one with the name of
/// `topology` or, if that is taken or `reserved`, with a number after it.
std::string declareTopology(mlir::OpBuilder &builder, ScheduleOp user,
                            const Topology &topology, llvm::StringRef reserved);

/// `collective` under the name by which `user` may refer to it, found or added
/// in the same way. The named kinds need no declaration.
Collective declareCollective(mlir::OpBuilder &builder, ScheduleOp user,
                             const Collective &collective,
                             llvm::StringRef reserved);

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_DECLARE_H
