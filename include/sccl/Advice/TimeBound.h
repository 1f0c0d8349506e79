//===- TimeBound.h - How little time a collective can take ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ADVICE_TIMEBOUND_H
#define SCCL_ADVICE_TIMEBOUND_H

#include "sccl/Advice/Fabric.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Rational.h"
#include "sccl/Optimize/Deadline.h"

#include <optional>

namespace sccl {

/// A bound on the time of any program for a collective, synchronous or not, in
/// pieces or not, in the simulator's model of a machine, where ranks learn of
/// one another by flags or LL words (and not by a launch for each step).
/// `advise` improves on it by linear programs, see lib/Advice/TimedBound.h.
///
/// A chunk that has to get from rank a to rank b takes at least the latencies
/// of a path from a to b: the farthest such pair gives `latency`. And if prices
/// of limits that do not depend on the step prove R/C >= rho (Certificate.h),
/// then the loads of all limits together are such that some limit carries at
/// least rho times its bandwidth of each chunk's bytes. It is busy for so long,
/// and the last of its bytes then takes a latency to be known of.
///
/// A hop takes the shortest transfer and the latency of its link; if flags tell
/// of it, what a signal and a wait take as well; or else twice the bytes, as LL
/// words, which a transfer within the rank delivers in the end. A program does
/// either.
struct TimeBound {
  /// Of programs of one kind, without the launch.
  struct Kind {
    double latency = 0;      ///< microseconds
    double leastLatency = 0; ///< of any link and its flag, microseconds
    double perByte = 0;      ///< microseconds per byte of a send buffer
    double delivery = 0;     ///< microseconds after the last hop

    /// Microseconds for send buffers of `bytes` bytes.
    double microseconds(double bytes) const;
  };
  Kind flags;
  /// Where flags take time beside latencies; else they are never slower.
  std::optional<Kind> words;
  double launch = 0; ///< microseconds before all of that

  /// Microseconds for send buffers of `bytes` bytes.
  double microseconds(double bytes) const;
};

/// The bound for `collective` on `topology` and its `timing`; `throughput` is
/// the certified bound on R/C for any number of steps, if there is one. A round
/// takes `roundTime` microseconds for each byte of a chunk: the time of a byte
/// at bandwidth 1.
TimeBound timeBound(const Topology &topology, const Collective &collective,
                    const Timing &timing,
                    const std::optional<Rational> &throughput,
                    double roundTime);

/// The same for the machine of `fabric`, where `throughput` is of its topology:
/// what bounds are about may be another one, whose bound on R/C is then
/// searched for within `limits`.
TimeBound machineTimeBound(const Fabric &fabric, const Collective &collective,
                           std::optional<Rational> throughput,
                           const SearchLimits &limits);

} // namespace sccl

#endif // SCCL_ADVICE_TIMEBOUND_H
