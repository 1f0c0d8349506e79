//===- ForSwitches.h - What switches can do in a program --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_TRANSFORMS_FORSWITCHES_H
#define SCCL_LIB_TRANSFORMS_FORSWITCHES_H

#include "SlotUses.h"

#include "sccl/Model/Topology.h"

#include <optional>
#include <vector>

namespace sccl::coll {

/// The attribute of a coll.put that a schedule has by way of a switch: a
/// transport, multicast or load_reduce. coll-lower-schedule leaves it for
/// coll-use-switches, which drops it.
inline constexpr const char *switchHint = "coll.by";

/// Ranks that a switch joins, and the slots that they have in common.
struct SwitchGroup {
  const Switch *by;
  unsigned slots = 0;
};

/// What a rank puts to all others of its switch.
struct SwitchCopy {
  unsigned group;
  Transfer transfer; ///< what it reads; of no rank what it writes
  std::vector<PutOp> puts;
  unsigned slot = 0; ///< in common
  /// Where what it reads is written in place of the output.
  std::optional<SlotRange> kept = std::nullopt;
};

/// What a rank adds up of what all others of its switch have put, and its own.
struct SwitchSum {
  unsigned group;
  unsigned step, chunk;
  TransferOpInterface op;
  std::vector<SlotRange> terms; ///< by rank of the switch
  unsigned slot = 0;            ///< in common
  bool isFirst = true;          ///< to copy the terms there
};

/// What is found in a program.
struct ForSwitches {
  std::vector<SwitchGroup> groups;
  std::vector<std::optional<unsigned>> groupOf; ///< by rank
  std::vector<SwitchCopy> multicasts;
  std::vector<SwitchSum> sums;
};

/// What the switches of `topology`, which must outlive the result, can do in
/// `program`, whose slots `uses` knows: what its schedule says that they do, or
/// all of it if that says nothing.
ForSwitches findForSwitches(ProgramOp program, const Topology &topology,
                            SlotUses &uses);

} // namespace sccl::coll

#endif // SCCL_LIB_TRANSFORMS_FORSWITCHES_H
