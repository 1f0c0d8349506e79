//===- CallBoard.h - Launches of a host's ranks, to compare -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs of a host write to each other's memory, at places that each rank finds
// for itself. So each rank posts what it launches, and where its output is, and
// reads what others have posted, before it enqueues anything: of two ranks that
// differ one is the later, and it sees that. A rank writes to another only when
// that one's kernel says that it is ready, so nothing has been written then.
// Kernels that an abort ends write all the same: after an error, buffers are
// undefined.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_CALLBOARD_H
#define SCCL_LIB_RUNTIME_MESSAGES_CALLBOARD_H

#include "CallHistory.h"

#include "Runtime/Bootstrap.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace sccl {

/// Where ranks of the host write to the output of a rank.
struct OutputPlace {
  uint64_t region = 0; ///< see NearRanks::Region; 0: they do not
  uint64_t offset = 0; ///< bytes
  bool operator==(const OutputPlace &) const = default;
  /// "at byte 64 of memory 2 of scclMemAlloc", or where else.
  std::string describe() const;
};

/// The boards of a host's ranks, as one of them sees them.
class CallBoard {
public:
  struct Post {
    CallMark call;
    OutputPlace output;
  };

  /// Collective, on all hosts. `here` are the ranks of this host, with this
  /// one, which is number `own`. Fails on all ranks if it fails on one.
  Status open(const Bootstrap &bootstrap, llvm::ArrayRef<unsigned> here,
              unsigned own);
  /// What this rank launches, for others to read.
  void post(const Post &what);
  /// What rank number `number` of the host has posted of its call `call`; none
  /// if it has not made that yet, or has made many since.
  std::optional<Post> read(unsigned number, uint64_t call) const;
  /// Rank number `number` has come to call `call`.
  bool hasPosted(unsigned number, uint64_t call) const;

private:
  struct Entry;
  Entry &entry(unsigned number, uint64_t call) const;

  unsigned own = 0;
  std::vector<SharedMemory> boards; ///< by number
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_CALLBOARD_H
