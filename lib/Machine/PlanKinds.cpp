//===- PlanKinds.cpp - Kinds of boxes -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PresetBuilder.h"

#include "sccl/Machine/Units.h"

using namespace sccl;

NetworkPlan sccl::oneNicPerGpu(Rational gigabytes) {
  std::string gigabits = decimalText(product(gigabytes, 8).value_or(0));
  return {gigabytes,   "IB", "usual NIC of " + gigabits + " Gb/s", 1, {},
          NicUse::All, true};
}

MachinePlan sccl::onSwitches(unsigned gpus, std::string chip, PresetLink link,
                             unsigned switches, unsigned linksPerSwitch,
                             bool inNetwork, Rational nic) {
  return {{gpus,
           std::move(chip),
           std::move(link),
           {},
           switches,
           linksPerSwitch,
           inNetwork},
          oneNicPerGpu(nic)};
}

MachinePlan sccl::fullyJoined(unsigned gpus, std::string chip, PresetLink link,
                              unsigned links, Rational nic) {
  MachinePlan plan = {{gpus, std::move(chip), std::move(link)},
                      oneNicPerGpu(nic)};
  for (unsigned a = 0; a < gpus; ++a)
    for (unsigned b = a + 1; b < gpus; ++b)
      plan.box.pairs.push_back({a, b, links});
  return plan;
}

MachinePlan sccl::torus(std::string chip, PresetLink link,
                        const std::vector<unsigned> &extents,
                        const std::vector<unsigned> &links) {
  MachinePlan plan;
  plan.box.chip = std::move(chip);
  plan.box.link = std::move(link);
  unsigned count = 1;
  for (unsigned extent : extents)
    count *= extent;
  plan.box.numGpus = count;
  unsigned stride = 1;
  for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) {
    unsigned extent = extents[d];
    for (unsigned gpu = 0; extent > 1 && gpu < count; ++gpu) {
      unsigned at = gpu / stride % extent;
      if (extent == 2 && at == 1)
        continue;
      plan.box.pairs.push_back(
          {gpu, gpu - at * stride + (at + 1) % extent * stride, links[d]});
    }
  }
  return plan;
}
