//===- LowerBound.h - Certified bounds on the bandwidth cost ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How cheap can a schedule of S steps be? A linear program over all k, R and C
// at once answers within milliseconds what a search would have to refute for
// each of them. Its dual solution, rounded to small integers, is a certificate;
// no bound leaves this library before `checkCertificate` has accepted it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_BOUNDS_LOWERBOUND_H
#define SCCL_BOUNDS_LOWERBOUND_H

#include "sccl/Check/Certificate.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Topology.h"
#include "sccl/Optimize/Deadline.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace sccl {

/// How hard to try.
struct LowerBoundOptions : SearchLimits {
  /// A bound worth hoping for, e.g. the R/C of a known schedule. Where there
  /// are several linear programs, stronger ones are tried while the bound is
  /// below it. Without a target the first one, which is all it takes on most
  /// topologies, decides.
  std::optional<Rational> target = std::nullopt;
  /// Bounds the load of pipelined schedules (Schedule.h) instead of R/C.
  bool pipelined = false;
  /// Below the target, also searches for what single chunks can do with, on a
  /// few ranks and where all chunks are alike. That may take all the work.
  bool searches = false;
  /// Linear programs with more columns than this are not tried.
  size_t maxColumns = 60000;
};

/// A proved bound.
struct LowerBound {
  /// No schedule has a smaller R/C, or load. Nothing if there is no schedule at
  /// all.
  std::optional<Rational> value;
  /// False if the optimum of the linear program was a little higher but did not
  /// round to small integers.
  bool isOptimumOfProgram = true;
  /// Proves `value`.
  Certificate certificate;
};

/// A bound on R/C of `collective` on `topology` with `steps` steps, for
/// all k, R and C. Fails if the numbers of ranks differ, `steps` is 0 or above
/// `Instance::maxRounds`, the linear program is too large or takes too long, or
/// its solution could not be turned into a certificate.
Result<LowerBound> lowerBound(const Topology &topology,
                              const Collective &collective, unsigned steps,
                              const LowerBoundOptions &options = {});

/// `lowerBound` for several numbers of steps, which have the search for
/// symmetries in common. Used by one thread.
class LowerBounds {
public:
  /// `topology` and `collective` must outlive this.
  LowerBounds(const Topology &topology, const Collective &collective);
  ~LowerBounds();
  Result<LowerBound> at(unsigned steps, const LowerBoundOptions &options = {});
  /// True if the last call had a search that its work cut short.
  bool wantsMoreWork() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

/// A bound for any number of steps, from the narrowest cut: the smallest R/C
/// that more steps could ever reach. Limits shared by links of different
/// sources and of different destinations are taken into account only where the
/// cut happens to need all their links. When time is over, a wider cut has to
/// do. Fails if the numbers of ranks differ, no chunk moves, or no cut was
/// found in time. Stops at the target, if one is given.
Result<LowerBound> throughputBound(const Topology &topology,
                                   const Collective &collective,
                                   const LowerBoundOptions &options = {});

/// `lowerBound`, or where that is weak or none, as for too large linear
/// programs, `throughputBound` if it is more, which holds for `steps` steps
/// like for any number. Fails if both do.
Result<LowerBound> availableBound(const Topology &topology,
                                  const Collective &collective, unsigned steps,
                                  const LowerBoundOptions &options = {});

} // namespace sccl

#endif // SCCL_BOUNDS_LOWERBOUND_H
