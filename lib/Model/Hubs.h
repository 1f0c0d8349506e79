//===- Hubs.h - Sets of ports that many ports reach -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A switch of n ports shows up as n * (n - 1) links from ports where ranks send
// to ports where they receive. A hub between all of them says the same with 2 n
// edges, if it is understood that no rank sends to itself.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_HUBS_H
#define SCCL_LIB_MODEL_HUBS_H

#include <vector>

namespace sccl {

/// A port of `rank`, and the ports of other ranks that its links lead to.
struct SendingPort {
  unsigned rank;
  std::vector<unsigned> targets;
};

/// For each of `ports` the set of ports, ascending, that it has in common with
/// most others: its targets, alone or with one of `receiving[rank]`, the ports
/// where its own rank receives. A port as often in one way as in another counts
/// alone, so that the answer does not depend on the order of ranks.
std::vector<std::vector<unsigned>>
hubsOf(std::vector<SendingPort> ports,
       const std::vector<std::vector<unsigned>> &receiving);

/// Sorts `list` and leaves each entry once.
void sortAndDropCopies(std::vector<unsigned> &list);

} // namespace sccl

#endif // SCCL_LIB_MODEL_HUBS_H
