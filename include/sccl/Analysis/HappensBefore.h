//===- HappensBefore.h - A program's order of events as a graph -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_HAPPENSBEFORE_H
#define SCCL_ANALYSIS_HAPPENSBEFORE_H

#include "sccl/Dialect/Coll/CollOps.h"

namespace sccl::coll {

/// Writes what happens before what in one launch of `program` as a graph in
/// Graphviz's DOT language: a node for each op, in a cluster for each rank, and
/// edges for the order within a channel, from signal to wait, and from the op
/// that writes LL words to those that read them. A barrier is one node. Emits
/// an error and fails, with part of the graph written, if the program gets
/// stuck (checks D1 and D2).
llvm::LogicalResult printHappensBefore(ProgramOp program,
                                       llvm::raw_ostream &os);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_HAPPENSBEFORE_H
