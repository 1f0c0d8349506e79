//===- SwitchedBoxes.cpp - Boxes of GPUs behind switches ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A switch is no rank, so it appears as links between all its ports and limits
// on the links of each port.
//
//===----------------------------------------------------------------------===//

#include "SwitchedBoxes.h"

#include "Benchmarks.h"

using namespace sccl;
using namespace sccl::bench;

Topology bench::makeSwitchedBoxes(unsigned boxes, unsigned gpus,
                                  unsigned boxBandwidth, Network network) {
  unsigned ranks = boxes * gpus;
  Topology topology(
      "boxes:" + std::to_string(boxes) + "x" + std::to_string(gpus), ranks);
  std::vector<std::vector<unsigned>> ports(4 * ranks);
  auto join = [&](unsigned src, unsigned dst, unsigned kind) {
    unsigned link = unwrap(topology.addLink(src, dst));
    ports[4 * src + kind].push_back(link);
    ports[4 * dst + kind + 1].push_back(link);
  };
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src / gpus == dst / gpus && src != dst)
        join(src, dst, 0);
      else if (src / gpus != dst / gpus &&
               (network == Network::Full || src % gpus == dst % gpus))
        join(src, dst, 2);
  for (unsigned port = 0; port < ports.size(); ++port)
    if (!ports[port].empty())
      unwrap(topology.addLimit(std::move(ports[port]),
                               port % 4 < 2 ? boxBandwidth : 1));
  return topology;
}
