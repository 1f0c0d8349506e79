//===- Boxes.cpp - Several boxes as one machine ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Boxes.h"

#include <algorithm>

using namespace sccl;

std::string sccl::vertexName(std::string_view stem, unsigned number,
                             unsigned box, unsigned numBoxes) {
  std::string name(stem);
  if (numBoxes > 1)
    name += std::to_string(box) + ".";
  return name + std::to_string(number);
}

std::optional<Error>
sccl::joinBoxes(Machine &machine,
                const std::vector<std::vector<NetworkPort>> &ports,
                bool hasRails, const std::string &kind) {
  size_t numSwitches = 1;
  if (hasRails)
    for (const std::vector<NetworkPort> &box : ports)
      numSwitches = std::max(numSwitches, box.size());
  std::vector<unsigned> switches;
  for (size_t rail = 0; rail < numSwitches; ++rail) {
    Result<unsigned> added = machine.addVertex(
        {VertexKind::Switch, hasRails ? "rail" + std::to_string(rail) : "core",
         std::nullopt});
    if (!added)
      return Error{added.error()};
    switches.push_back(*added);
  }
  for (const std::vector<NetworkPort> &box : ports)
    for (size_t i = 0; i < box.size(); ++i)
      if (Result<unsigned> added =
              machine.addEdgePair({box[i].first, switches[hasRails ? i : 0],
                                   box[i].second, std::nullopt, kind});
          !added)
        return Error{added.error()};
  return std::nullopt;
}
