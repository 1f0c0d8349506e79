//===- Way.h - How a schedule is lowered ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_WAY_H
#define SCCL_DIALECT_COLL_WAY_H

#include "sccl/Dialect/Coll/Transfer.h"

#include <cstdint>
#include <tuple>
#include <vector>

namespace sccl::coll {

/// What a program was advised for.
struct AdvisedSize {
  uint64_t bytes = 0;       ///< of a send buffer
  uint64_t nanoseconds = 0; ///< as simulated
  uint64_t bound = 0;       ///< nanoseconds that no program takes less than
  bool operator==(const AdvisedSize &) const = default;
};

/// An attribute #coll.way, whose description says what the fields mean.
struct Way {
  Transport transport = Transport::Push;
  Protocol protocol = Protocol::Direct;
  unsigned pieces = 1;
  unsigned distance = 6;
  PieceOrder order = PieceOrder::Steps;
  std::vector<AdvisedSize> bestAt = {};

  /// Ways with the same key give the same program.
  auto key() const { return std::tuple(transport, protocol, cut()); }
  /// How chunks are cut: one piece has no order.
  std::tuple<unsigned, unsigned, PieceOrder> cut() const {
    return {pieces, pieces > 1 ? distance : 0,
            pieces > 1 ? order : PieceOrder::Steps};
  }
  bool operator==(const Way &) const = default;
};

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_WAY_H
