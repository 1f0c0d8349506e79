//===- mscclpp-register.cpp - Plans for MSCCL++'s choice of algorithms ----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compile this file with your program against MSCCL++ 0.9, and call it before
// the first collective. A call takes the first plan, by name, that serves its
// collective, size and place; all others go to MSCCL++'s own algorithms.
//
//===----------------------------------------------------------------------===//

#include <mscclpp/algorithm.hpp>

#include <string>
#include <vector>

using namespace mscclpp;

/// Makes the plans in `paths`, which `sccl convert` wrote, known on this rank.
void registerScclPlans(const std::vector<std::string> &paths, int rank,
                       int worldSize, int ranksPerNode) {
  auto builder = AlgorithmCollectionBuilder::getInstance();
  for (const std::string &path : paths) {
    ExecutionPlan plan(path, rank);
    builder->addAlgorithmBuilder(std::make_shared<DslAlgorithm>(
        plan.name(), plan, std::unordered_map<std::string, uint64_t>(),
        Algorithm::Constraint{worldSize, ranksPerNode}));
  }
  builder->setAlgorithmSelector(
      [](const auto &plans, const CollectiveRequest &request) {
        std::shared_ptr<Algorithm> best;
        auto serving = plans.find(request.collective);
        if (serving == plans.end())
          return best;
        for (const auto &[name, plan] : serving->second)
          if (auto [least, most] = plan->messageRange();
              least <= request.messageSize && request.messageSize <= most &&
              plan->bufferMode() == request.bufferMode() &&
              plan->constraint().worldSize == request.worldSize &&
              (!best || name < best->name()))
            best = plan;
        return best;
      });
}
