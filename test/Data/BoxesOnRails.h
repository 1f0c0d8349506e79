//===- BoxesOnRails.h - A cluster of boxes with rails -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_DATA_BOXESONRAILS_H
#define SCCL_TEST_DATA_BOXESONRAILS_H

#include "sccl/Model/Topology.h"

#include <gtest/gtest.h>

#include <optional>

namespace sccl::test {

/// Boxes of `gpus` ranks behind a switch, whose ports let `inBox` chunks per
/// round through in each direction. The i-th ranks of all boxes are joined by a
/// switch of their own with ports of `network` chunks per round. The links of
/// `withoutRail` are missing, as if its network card had failed.
inline Topology
boxesOnRails(unsigned boxes, unsigned gpus, unsigned inBox,
             unsigned network = 1,
             std::optional<unsigned> withoutRail = std::nullopt) {
  unsigned ranks = boxes * gpus;
  Topology topology("boxes", ranks);
  // For each rank out of and into the switch of the box, then the rail.
  std::vector<std::vector<unsigned>> ports(4 * ranks);
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = 0; b < ranks; ++b) {
      bool sameBox = a / gpus == b / gpus;
      bool isLost = !sameBox && (a == withoutRail || b == withoutRail);
      if (a == b || isLost || (!sameBox && a % gpus != b % gpus))
        continue;
      unsigned link = *topology.addLink(a, b);
      ports[4 * a + (sameBox ? 0 : 2)].push_back(link);
      ports[4 * b + (sameBox ? 1 : 3)].push_back(link);
    }
  for (unsigned i = 0; i < ports.size(); ++i)
    if (!ports[i].empty()) {
      EXPECT_TRUE(topology.addLimit(ports[i], i % 4 < 2 ? inBox : network));
    }
  return topology;
}

/// Boxes like those, any two ranks of which a core joins: every `perCard` ranks
/// of a box have a network card, which lets a chunk per round through in each
/// direction. With `rails` only cards at the same place in their boxes are
/// joined.
inline Topology boxesOnCore(unsigned boxes, unsigned gpus, unsigned inBox,
                            unsigned perCard = 1, bool rails = false) {
  unsigned ranks = boxes * gpus;
  Topology topology("core", ranks);
  std::vector<std::vector<unsigned>> ports(4 * ranks);
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = 0; b < ranks; ++b) {
      bool sameBox = a / gpus == b / gpus;
      bool sameRail = a % gpus / perCard == b % gpus / perCard;
      if (a == b || (rails && !sameBox && !sameRail))
        continue;
      unsigned out = sameBox ? a : a / perCard, in = sameBox ? b : b / perCard;
      unsigned link = *topology.addLink(a, b);
      ports[4 * out + (sameBox ? 0 : 2)].push_back(link);
      ports[4 * in + (sameBox ? 1 : 3)].push_back(link);
    }
  for (unsigned i = 0; i < ports.size(); ++i)
    if (!ports[i].empty()) {
      EXPECT_TRUE(topology.addLimit(ports[i], i % 4 < 2 ? inBox : 1));
    }
  return topology;
}

} // namespace sccl::test

#endif // SCCL_TEST_DATA_BOXESONRAILS_H
