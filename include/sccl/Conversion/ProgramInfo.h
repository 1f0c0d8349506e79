//===- ProgramInfo.h - What a launch of a program needs ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_PROGRAMINFO_H
#define SCCL_CONVERSION_PROGRAMINFO_H

#include "sccl/ABI/RankTable.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sccl {

class Collective;

namespace coll {
class ProgramOp;
} // namespace coll

/// The beginning of all symbols made for the program called `name`. Assemblers
/// take fewer names than MLIR: bytes other than letters, digits and underscores
/// become "_x" and two hexadecimal digits, and so do a digit at the beginning
/// and the underscore of "_x" itself. Different names have different symbols.
std::string symbolOf(llvm::StringRef name);

/// What somebody who launches the functions of a program has to know about it;
/// see KernelABI.h.
struct ProgramInfo {
  std::string name;
  unsigned numRanks = 0;
  unsigned chunksPerSegment = 1;
  unsigned blocks = 1; ///< per channel
  /// By rank: slots of scratch, each of chunkStride() bytes; both halves of
  /// scratch that is double-buffered are counted, and a slot of LL words counts
  /// as two.
  std::vector<unsigned> scratchSlots;
  /// By rank: bytes of control memory.
  std::vector<uint64_t> controlBytes;
  /// By rank: channels, each of `blocks` blocks that must be resident together.
  std::vector<unsigned> channels;
  /// Functions per rank: 0 if all is in NAME_rankN, else the number of
  /// NAME_rankN_stepK.
  unsigned steps = 0;
  /// By step: what copy engines do beside the functions.
  std::vector<std::vector<EngineCopy>> copies;
  /// Chunks that all ranks together read and write: the traffic of a launch. In
  /// LL words a chunk counts twice.
  uint64_t chunksMoved = 0;
  /// Whether ranks read their peers' send buffers, or write or read their
  /// receive buffers. If not, only scratch and control need be shared.
  bool peersReadInput = false;
  bool peersTouchOutput = false;

  /// Bytes of scratch of `rank` for segments of `segmentBytes` bytes.
  uint64_t scratchBytes(unsigned rank, uint64_t segmentBytes) const {
    return scratchSlots[rank] * chunkStride(segmentBytes, chunksPerSegment);
  }
  /// The symbol of the function of `rank`; of step `step` if the program has
  /// steps.
  std::string functionName(unsigned rank, unsigned step = 0) const {
    std::string symbol = symbolOf(name) + "_rank" + std::to_string(rank);
    return steps == 0 ? symbol : symbol + "_step" + std::to_string(step);
  }
  /// The same for a function that serves all ranks, with tables.
  std::string tableFunctionName(unsigned step = 0) const {
    std::string symbol = tableFunction;
    return steps == 0 ? symbol : symbol + "_step" + std::to_string(step);
  }
};

/// Reads what there is to know off a program of `collective`.
ProgramInfo describeProgram(coll::ProgramOp program,
                            const Collective &collective);

} // namespace sccl

#endif // SCCL_CONVERSION_PROGRAMINFO_H
