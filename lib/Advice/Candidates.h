//===- Candidates.h - Schedules that may be the best ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_CANDIDATES_H
#define SCCL_LIB_ADVICE_CANDIDATES_H

#include "sccl/Advice/Advice.h"
#include "sccl/Optimize/Deadline.h"

namespace sccl::advice {

/// What the searches found.
struct Found {
  Frontier frontier;
  /// Each in as few pieces as may be worth it.
  std::vector<Candidate> candidates;
};

/// The frontier of `family` on `topology`, its points also in pieces that
/// follow each other, pipelined schedules of small loads, and sums of gathered
/// inputs. Takes half of what is left of the time of `deadline`, if it has a
/// limit, whatever `options` say. Fails where searchFrontier does.
Result<Found> findCandidates(const Fabric &fabric,
                             const CollectiveFamily &family,
                             const FrontierOptions &options,
                             const Deadline &deadline);

/// Pipelined schedules of small loads in which switches copy and reduce; none
/// of collectives for which there are none. Takes half of what is left of the
/// time of `deadline`, if it has a limit.
std::vector<Candidate> switchedCandidates(const Fabric &fabric,
                                          const CollectiveFamily &family,
                                          const FrontierOptions &options,
                                          const Deadline &deadline);

/// `whole` step by step, and with overlapping steps in as few pieces as may be
/// worth it.
std::vector<Candidate> candidatesOf(const Implementation &whole,
                                    const Fabric &fabric);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_CANDIDATES_H
