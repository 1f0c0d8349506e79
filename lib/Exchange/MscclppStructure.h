//===- MscclppStructure.h - What plans of MSCCL++ must be like --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLPPSTRUCTURE_H
#define SCCL_LIB_EXCHANGE_MSCCLPPSTRUCTURE_H

#include "CallLayout.h"

#include "sccl/Exchange/Mscclpp.h"

namespace sccl::exchange {

/// Sizes of the executor's arrays (execution_common.hpp of version 0.9).
struct MscclppLimits {
  static constexpr size_t operationsPerBlock = 64;
  static constexpr size_t channelsPerBlock = 16; ///< of each type
  static constexpr size_t remotesPerBlock = 16;  ///< for each type
  static constexpr size_t channelsPerOperation = 8;
  static constexpr size_t buffersPerOperation = 10; ///< from or to
  static constexpr size_t barriers = 16;
  static constexpr size_t semaphoresPerOperation = 16;
  static constexpr uint32_t threadsPerBlock = 1024;
  /// All blocks of a rank have to run at once, each on a multiprocessor of its
  /// own: those of an A100. Kept by what we write.
  static constexpr size_t blocksPerRank = 108;
};

/// What an operation takes or leaves somewhere.
enum class MscclppRole : uint8_t { None, Local, LocalLL, Remote, RemoteLL };
inline bool isLL(MscclppRole role) {
  return role == MscclppRole::LocalLL || role == MscclppRole::RemoteLL;
}
inline bool isRemote(MscclppRole role) {
  return role == MscclppRole::Remote || role == MscclppRole::RemoteLL;
}

/// What an operation has to have.
struct MscclppShape {
  MscclppRole source, moreSources;
  MscclppRole destination, second, moreDestinations;
  bool isPaired; ///< each source goes to the destination of its number

  MscclppRole ofSource(size_t i) const { return i == 0 ? source : moreSources; }
  MscclppRole ofDestination(size_t i) const {
    return i == 0 ? destination : i == 1 ? second : moreDestinations;
  }
};
MscclppShape shapeOf(const MscclppOperation &operation);

/// True if an operation waits for the LL words that it reads. A ppkt through a
/// port does not: it sends words that have to be there.
bool waitsForWords(const MscclppOperation &operation);

/// The channel of the peer that a channel of a rank is connected to; nothing if
/// the peer has too few for that.
std::optional<uint32_t> peerChannel(const MscclppPlan &plan, uint32_t rank,
                                    MscclppChannel type, uint32_t channel);

/// The collective that a plan names. Says why if it is none that can be
/// checked.
std::optional<CollectiveKind> mscclppCollective(const MscclppPlan &plan,
                                                Findings &findings);

/// The largest call whose offsets have 32 bits, in bytes of the buffer that
/// the executor looks at.
uint64_t mscclppMostBytes(const MscclppPlan &plan, CollectiveKind kind);

/// False after a finding if the executor has no room for something, an
/// operation lacks or has what it must or must not, or refers to what is not
/// there.
bool checkMscclppStructure(const MscclppPlan &plan, CollectiveKind kind,
                           unsigned root, Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLPPSTRUCTURE_H
