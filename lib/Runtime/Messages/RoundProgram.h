//===- RoundProgram.h - What a rank does round by round ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_ROUNDPROGRAM_H
#define SCCL_LIB_RUNTIME_MESSAGES_ROUNDPROGRAM_H

#include "MessageProgram.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sccl {

/// A table of messages as a list: for each round first what the rank computes,
/// then its messages, in the order in which peers have them, too.
struct RoundProgram {
  /// Rows that need nothing of each other, for one launch of a kernel.
  struct Launch {
    uint64_t table;      ///< the byte of `tables` where its RankTable begins
    uint32_t mostChunks; ///< of a row
  };
  /// The launches and messages of a round end where those of the next begin.
  struct Round {
    uint32_t firstLaunch, firstMessage;
  };

  std::vector<Round> rounds; ///< and one more behind the last
  std::vector<Launch> launches;
  std::vector<uint32_t> messages; ///< rows of the table
  std::string tables;

  /// Of `program`, which has rounds, for launches of up to `blocks` blocks;
  /// without the messages of peers that are near, see NearProgram.
  static RoundProgram make(const MessageProgram &program, unsigned blocks,
                           llvm::function_ref<bool(unsigned peer)> isNear = {});
};

/// A slot of the rank itself, as kernels read it.
TableSlot tableSlotOf(const MessageSlot &slot, uint32_t step,
                      uint32_t chunksPerSegment);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_ROUNDPROGRAM_H
