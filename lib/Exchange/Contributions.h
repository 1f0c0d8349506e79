//===- Contributions.h - Running a trace on names of chunks -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In place of data a cell holds whose input chunks have been summed up in it,
// and how often each. Equal sums are stored once, and known by a number.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_CONTRIBUTIONS_H
#define SCCL_LIB_EXCHANGE_CONTRIBUTIONS_H

#include "Trace.h"

#include <map>
#include <unordered_map>

namespace sccl::exchange {

/// An input chunk of a rank.
struct Origin {
  uint32_t rank, chunk;
  auto operator<=>(const Origin &) const = default;
};

/// Sums of input chunks, ascending, with how often each is in it.
using Sum = std::vector<std::pair<Origin, uint32_t>>;

/// The number of a sum.
using SumId = uint32_t;

class Sums {
public:
  static constexpr SumId nothing = 0; ///< what has never been written

  SumId of(Sum sum);
  SumId add(SumId a, SumId b);
  const Sum &operator[](SumId id) const { return *list[id]; }

private:
  std::map<Sum, SumId> ids;
  std::vector<const Sum *> list = {nullptr};
  std::unordered_map<uint64_t, SumId> known;
};

/// Cells of all ranks.
struct Memory {
  std::vector<std::vector<SumId>> cells; ///< by rank
  /// The event that wrote last, if any did.
  std::vector<std::vector<std::optional<uint32_t>>> writers;
};

/// What is in `memory` after all events, in an order of `orderEvents`. Says in
/// `findings` which events read what has never been written.
void execute(const Trace &trace, const std::vector<uint32_t> &order, Sums &sums,
             Memory &memory, Findings &findings);

/// How `is` differs from `wanted`, in words; empty if not at all.
std::string difference(const Sum *is, const Sum &wanted);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_CONTRIBUTIONS_H
