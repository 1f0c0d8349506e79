//===- Way.h - How a schedule is lowered ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_WAY_H
#define SCCL_DIALECT_COLL_WAY_H

#include "sccl/Dialect/Coll/Transfer.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Model/SizedTime.h"
#include "sccl/Model/SumTree.h"

#include <tuple>
#include <utility>
#include <vector>

namespace sccl::coll {

/// An attribute #coll.way, whose description says what the fields mean.
struct Way {
  Transport transport = Transport::Push;
  Protocol protocol = Protocol::Direct;
  unsigned pieces = 1;
  sccl::PieceOrder order = {}; ///< `distance` and `order` of the attribute
  unsigned smBudget = 0;
  SumOrder sumOrder = SumOrder::Same;
  bool oneRounding = false;
  bool sumsInF32 = false; ///< `wire` of the attribute
  std::vector<SizedTime> bestAt = {};

  /// Ways with the same key give the same program.
  auto key() const {
    return std::tuple(transport, protocol, cut(), smBudget, sumOrder.toString(),
                      oneRounding, sumsInF32);
  }
  /// How chunks are cut: one piece has no order.
  std::pair<unsigned, sccl::PieceOrder> cut() const {
    return {pieces, pieces > 1 ? order : sccl::PieceOrder()};
  }
  bool operator==(const Way &) const = default;
};

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_WAY_H
