//===- CodeShape.cpp - Calls or tables ------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/CodeShape.h"

#include "sccl/Dialect/Coll/CollOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

CodeShape coll::chooseCodeShape(CodeShapeChoice choice, ProgramOp program) {
  if (choice == CodeShapeChoice::Unrolled)
    return CodeShape::Unrolled;
  if (choice == CodeShapeChoice::Table)
    return CodeShape::Table;
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    unsigned ops = 0;
    rank.walk([&](ChannelOp channel) {
      ops += channel.getBody().front().getOperations().size();
    });
    if (ops > autoTableRows)
      return CodeShape::Table;
  }
  return CodeShape::Unrolled;
}
