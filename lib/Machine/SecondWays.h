//===- SecondWays.h - PCIe beside a faster link -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two GPUs that share a switch of PCIe with no third have a way there of their
// own, beside the one over NVLink. Where nothing else passes that way, the link
// has h GB/s more than all limits say: let x be what it carries, then min(x, h)
// may pass the second way, and limits bound the rest. The rest of links P in a
// limit on L of c GB/s is at most c if and only if for each part A of P the
// links of A, and of L without P, carry at most c + h(A). So limits on sets of
// links say all that there is to say.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_SECONDWAYS_H
#define SCCL_LIB_MACHINE_SECONDWAYS_H

#include "Routes.h"
#include "SetLimits.h"

#include <map>

namespace sccl {

/// A way over PCIe that only one link takes.
struct SecondWay {
  unsigned edges[2];
  Rational rate; ///< GB/s
};

/// The second way of each of `routes`, by number, that has one. Counts in
/// `numShared` those that are not taken because something else passes there.
std::map<unsigned, SecondWay> findSecondWays(const Machine &machine,
                                             const std::vector<Route> &routes,
                                             unsigned &numShared);

/// `limits` for links that have these ways in addition. Fails where one limit
/// has too many of such links.
Result<SetLimits> withSecondWays(const SetLimits &limits,
                                 const std::map<unsigned, SecondWay> &ways);

} // namespace sccl

#endif // SCCL_LIB_MACHINE_SECONDWAYS_H
