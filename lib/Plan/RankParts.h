//===- RankParts.h - The part of each rank in a plan ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_RANKPARTS_H
#define SCCL_LIB_PLAN_RANKPARTS_H

#include "sccl/Plan/Plan.h"

namespace sccl::plan {

/// Bytes of the index of ranks: what everybody knows of each rank, and where
/// its part is.
uint64_t rankIndexBytes(const Manifest &manifest);
std::string rankIndex(const Manifest &manifest,
                      llvm::ArrayRef<PartRange> parts);
/// Fills in `layout` and the needs of ranks, and the ranges. Returns an error
/// if a number is beyond its limit. `bytes` are as many as `rankIndexBytes`
/// says.
std::optional<Error> readRankIndex(llvm::StringRef bytes, Manifest &manifest,
                                   std::vector<PartRange> &parts);

/// Makes the parts of a plan.
class PartWriter {
public:
  /// Keeps a reference to `plan`.
  explicit PartWriter(const Plan &plan);
  /// The bytes of the part of `rank`. Fails if a reader would.
  Result<std::string> part(unsigned rank) const;

private:
  struct Copy {
    unsigned program, step;
    const EngineCopy *copy;
  };
  const Plan &plan;
  std::vector<std::vector<Copy>> copies; ///< by rank, in order
  std::string error;                     ///< of some copy; or empty
};

/// Reads a part, without a look at its hash.
Result<RankPart> decodePart(const Manifest &manifest, unsigned rank,
                            llvm::StringRef bytes);

} // namespace sccl::plan

#endif // SCCL_LIB_PLAN_RANKPARTS_H
