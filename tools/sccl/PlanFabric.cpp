//===- PlanFabric.cpp - What sccl plan plans for --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFabric.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Advice/MessageTraffic.h"

#include "sccl/Machine/Derivation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

#include <set>

using namespace sccl;
using namespace sccl::driver;

std::optional<CollectiveFamily> driver::amongAll(const CollectiveFamily &family,
                                                 const NamedFabric &left,
                                                 const NamedFabric &intact) {
  if (left.gpus == intact.gpus)
    return family;
  if (family.defined)
    return std::nullopt;
  std::vector<unsigned> ranks; // on the intact machine, of each rank
  for (const std::string &gpu : left.gpus)
    ranks.push_back(llvm::find(intact.gpus, gpu) - intact.gpus.begin());
  CollectiveFamily result = family;
  if (result.groups.empty()) {
    result.groups = {std::move(ranks)};
    return result;
  }
  for (std::vector<unsigned> &group : result.groups)
    for (unsigned &rank : group)
      rank = ranks[rank];
  return result;
}

std::string driver::kindsOf(const Machine &machine) {
  std::set<std::string> kinds;
  for (const Edge &edge : machine.edges())
    kinds.insert(llvm::StringRef(edge.kind).rtrim("0123456789.").str());
  kinds.erase("");
  return llvm::join(kinds, ", ");
}

bool driver::canCompareWith(const Machine &intact) {
  Result<Derivation> derivation = deriveTopology(intact);
  if (!derivation)
    llvm::WithColor::note(llvm::errs(), "sccl")
        << "not compared with the intact machine, which has no topology: "
        << derivation.error() << '\n';
  return bool(derivation);
}

std::string driver::comparisonText(const NamedFabric &left,
                                   const NamedFabric &intact, bool isCompared) {
  if (left.gpus == intact.gpus)
    return "";
  if (!isCompared)
    return "not compared with the intact machine: the collective is defined "
           "for as many ranks as are left";
  return llvm::formatv("intact: the same {0} GPUs of {1}, of which the others "
                       "only pass chunks on",
                       left.gpus.size(), intact.gpus.size());
}

void driver::limitBy(const Advice &left, Advice &intact) {
  for (size_t i = 0; i < intact.sizes.size(); ++i)
    intact.sizes[i].microseconds =
        std::min(intact.sizes[i].microseconds, left.sizes[i].microseconds);
}

void driver::takeMessages(NamedFabric &named) {
  double launch = named.fabric.timing.launchTime;
  auto clock =
      std::make_shared<MessageClock>(MessageClock{named.boxes, launch});
  named.assumptions.push_back(
      llvm::formatv("GPUs of a box write to each other, others exchange "
                    "messages: a group of these takes {0:f1} us beside what "
                    "links take, and a kernel {1:f1} (assumed)",
                    clock->groupTime, launch));
  named.fabric.messages = std::move(clock);
}
