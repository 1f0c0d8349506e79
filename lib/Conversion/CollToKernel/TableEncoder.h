//===- TableEncoder.h - The bytes of one table ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEENCODER_H
#define SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEENCODER_H

#include "../Common/LLHelpers.h"
#include "sccl/ABI/RankTable.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include <string>
#include <vector>

namespace sccl::collk {

/// Encodes the table of one rank.
class TableEncoder {
public:
  /// `channelEnds` is that of TableHeader, and must live as long as this.
  TableEncoder(ProgramOp program, const std::vector<uint32_t> &channelEnds)
      : program(program), channelEnds(channelEnds) {}

  /// Adds what the rank executes, or executes in the next step.
  void add(TableOp table);
  std::string bytes();

private:
  void addRow(mlir::Operation &op);
  void addFlags(TableRow::Kind kind, mlir::ValueRange values);
  template <typename Op>
  void addTransfer(Op op, const coll::TransferShape &shape,
                   TableRow::Kind plain, mlir::Value first, mlir::Value second);

  ProgramOp program;
  const std::vector<uint32_t> &channelEnds;
  TableHeader header = {};
  std::vector<TableChannel> entries; ///< their rows counted from 0
  std::vector<TableRow> rows;        ///< their flags counted from 0
  std::vector<TableFlag> flags;
};

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_TABLEENCODER_H
