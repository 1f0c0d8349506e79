//===- Helpers.h - Functions that generated code calls ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them are `no_inline`: the code of a rank then grows by one call per
// op.
//
// Their names stand in HelperNames.h.
//
//   @coll_transfer         moves chunks of a segment: addresses, lengths, the
//                          part of this block, then @coll_copy
//   @coll_reduce           the same for a reduction, then
//                          @coll_reduce_elements; for averages it has one more
//                          operand, an AverageWord, and where there are
//                          several reductions another one, the number of one
//                          of them
//   @coll_copy             copies bytes           } by all threads of a block,
//   @coll_reduce_elements  reduces elements       } or by the host thread
//   @coll_average          the same, and divides: the last reduction of an
//                          average
//   @coll_choose_elements, @coll_choose_average
//                          where there are several reductions: call the loop of
//                          one, @coll_reduce_elements__f32_sum, ..., which
//                          their last operand chooses; see ReductionChoice.h
//   @coll_signal           publishes what came before, then sets flags
//   @coll_wait             returns when flags have reached their values, or on
//                          abort
//   @coll_begin            the number of this launch, from the block's epoch
//                          word
//   @coll_end              stores it there
//   @coll_record           where the channel tells of this launch, and of which
//                          one; only in traced code for GPUs
//   @coll_mark             tells that the channel has come to a mark; likewise
//   @coll_transfer_XY, @coll_copy_XY, @coll_reduce_XYZ,
//   @coll_reduce_elements_XYZ, @coll_average_XYZ
//                          the same with LL words: the destination X and the
//                          sources are LL words (p) or plain memory (m)
//                          Or wide (w), of f32, where elements are smaller (m)
//   @coll_transfer_switch, @coll_copy_switch, @coll_reduce_switch,
//   @coll_reduce_elements_switch
//                          the same by the switch of the rank's group: a copy
//                          to all its ranks, a reduction of what they have;
//                          with one source
//   @coll_copy_XY_team     the same by 32 threads side by side: short slices
//                          of several chunks at once
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_HELPERS_H
#define SCCL_LIB_CONVERSION_COMMON_HELPERS_H

#include "ElementOps.h"
#include "LLHelpers.h"

#include "sccl/ABI/HelperNames.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <set>

namespace mlir {
class Block;
} // namespace mlir

namespace sccl::coll {

/// Helpers take the number of parts of a chunk, above so many bits the
/// doublings that make a block's share of them, and above those the word of a
/// BlockShare: one word, as each argument costs kernels registers.
inline constexpr unsigned doublingsShift = 13, shareShift = 16;

/// Threads side by side that copy a short slice of LL words by themselves,
/// while others have the next.
inline constexpr unsigned teamThreads = 32;
/// Bytes of LL words, data and launch numbers, that a thread has under way on a
/// GPU, in a copy as in a poll (gate K11).
inline constexpr unsigned llBytesUnderWay = 64;
/// Terms of a sum that a thread with one line of LL words polls for at once.
inline constexpr unsigned llTermsAtOnce = 8;

/// Whose instructions the helpers are for.
enum class HelperTarget { NVVM, ROCDL, Host };

struct HelperOptions {
  HelperTarget target = HelperTarget::Host;
  /// Threads of a block; 1 on the host.
  unsigned blockSize = 1;
  /// What the program may have to reduce; empty if it does not reduce.
  std::vector<ElementOp> reductions = {};
  /// On the host: where the buffers of all ranks take so many bytes and more,
  /// copies bypass the cache.
  uint64_t cacheBytes = 0;
  /// Of the copies and reductions, but for the plain ones of one or two
  /// sources.
  std::set<TransferShape> shapes = {};
  /// Why no transfer may go through a switch, or empty if they may.
  std::string whyNoSwitch = "a host does not reach";
  /// On a GPU: the program has marks.
  bool traced = false;

  bool isHost() const { return target == HelperTarget::Host; }
  bool reduces() const { return !reductions.empty(); }
  bool averages() const {
    return llvm::any_of(reductions, std::mem_fn(&ElementOp::averages));
  }
  /// True if an argument says which of the reductions it is.
  bool chooses() const { return reductions.size() > 1; }
  /// What reduces elements, and what averages them.
  const char *elementsHelper() const {
    return chooses() ? helper::chooseElements : helper::reduceElements;
  }
  const char *averageHelper() const {
    return chooses() ? helper::chooseAverage : helper::average;
  }
};

/// Threads side by side that access memory side by side. Offsets in an
/// instruction of gfx9 have 13 bits: with the accesses of a thread one wave
/// apart most need no address of their own. On NVIDIA, where all offsets fit,
/// the whole block stays together.
inline unsigned lanesOf(const HelperOptions &options) {
  return options.target == HelperTarget::ROCDL ? 64 : options.blockSize;
}

/// Builds the helper functions into `body`, at its end.
void insertHelpers(mlir::Block &body, const HelperOptions &options);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_HELPERS_H
