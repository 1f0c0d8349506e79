//===- Skeleton.h - What helpers in PTX do to flags -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_LITMUS_SKELETON_H
#define SCCL_LIB_LITMUS_SKELETON_H

#include "Assembly/Assembly.h"

#include "sccl/Litmus/Program.h"

#include <compare>

namespace sccl::litmus {

/// An access to a flag, a fence or a barrier.
struct FlagStep {
  Kind kind;
  Order order;
  Scope scope;
  unsigned barrier;
  unsigned bits; ///< of an access
  auto operator<=>(const FlagStep &) const = default;
};

/// What one thread does in a helper, along one path.
using FlagPath = std::vector<FlagStep>;

/// The different paths through a helper. Loops are left after one turn.
struct HelperPaths {
  std::vector<FlagPath> withFlag;    ///< of the threads that have a flag
  std::vector<FlagPath> withoutFlag; ///< of all others
};

/// How memory is accessed.
struct AccessKind {
  Order order;
  Scope scope;
  auto operator<=>(const AccessKind &) const = default;
};

/// The different accesses to payload, or to LL words.
struct Accesses {
  std::vector<AccessKind> loads, stores;
};

/// All that the protocol depends on.
struct Skeleton {
  unsigned line = 0; ///< of @coll_signal, or of a copy of LL words
  HelperPaths signal, wait, end;
  Accesses payload, words;
  bool hasFlags = false;
};

/// Errors are "LINE:1: message".
Result<Skeleton> skeletonOf(const assembly::Text &text);

} // namespace sccl::litmus

#endif // SCCL_LIB_LITMUS_SKELETON_H
