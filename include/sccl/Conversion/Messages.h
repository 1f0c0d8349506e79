//===- Messages.h - Programs whose ranks exchange messages ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_MESSAGES_H
#define SCCL_CONVERSION_MESSAGES_H

#include "sccl/ABI/MessageTable.h"

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace sccl {

class Collective;

namespace coll {
class ProgramOp;
} // namespace coll

/// What one rank does: rows in an order in which they can be executed, each
/// with the rows that need it.
struct RankMessages {
  std::vector<MessageRow> rows;            ///< but for firstNext and numNext
  std::vector<std::vector<uint32_t>> next; ///< by row, ascending
  std::vector<uint32_t> rounds;            ///< by row, see MessageTable.h
  uint32_t scratchSlots = 0;
};

/// By rank, what the ranks of `program` do when transfers between them are
/// messages. Signals and waits are not needed any more: whoever reads a slot
/// needs the rows that write it. That holds for buffers of the caller that are
/// one as well, if the program allows that. Of a program in `pieces` pieces
/// (Model/Pieces.h) each has a round more before its first than the one before,
/// so that ranks are in other steps of several at once. Emits an error and
/// fails if no execution of the program comes to an end, or, unless it is
/// `unweighted`, if averages cannot weigh what it adds up.
mlir::FailureOr<std::vector<RankMessages>>
makeMessages(coll::ProgramOp program, const Collective &collective,
             bool unweighted, unsigned pieces);

/// What is wrong with the rounds of the rows of all ranks; empty if they are as
/// MessageTable.h says.
std::string findRoundMistake(const std::vector<RankMessages> &ranks);

/// The tables of all ranks, as MessageTable.h says.
std::vector<std::string> messageTables(const std::vector<RankMessages> &ranks,
                                       const Collective &collective);

} // namespace sccl

#endif // SCCL_CONVERSION_MESSAGES_H
