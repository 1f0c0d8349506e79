//===- PlanRequest.cpp - What is asked of a plan --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/PlanBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include "sccl/ABI/MessageTable.h"

#include <algorithm>

using namespace sccl;

std::optional<std::string> sccl::findHostTarget(llvm::StringRef name) {
  if (name == "x86-64" || name == "x86-64-v3")
    return name.str();
  if (name == "host")
    return "x86-64-v3";
  return std::nullopt;
}

bool sccl::isMessageTarget(llvm::StringRef name) {
  return name == messageTarget || name.starts_with(messageChipPrefix);
}

llvm::StringRef sccl::chipOf(llvm::StringRef name) {
  name.consume_front(messageChipPrefix);
  return name;
}

bool sccl::isCPUTarget(llvm::StringRef name) {
  return findHostTarget(name) || name == messageTarget;
}

std::vector<std::string> PlanRequest::variantNames() const {
  std::vector<std::string> names = variants;
  if (names.empty())
    names = {"push", "pull", "scratch", "dma"};
  // The others are for devices, types and reductions without a switch.
  if (lowering.inNetwork && !llvm::is_contained(names, "in-network"))
    names.insert(names.begin(), "in-network");
  return names;
}

VariantChoice PlanRequest::variantsFor(uint64_t ranges, bool combining) const {
  std::vector<std::string> all = variantNames();
  uint64_t most = rangeBudget / std::max<uint64_t>(ranges, 1);
  if (!variants.empty() || most >= all.size())
    return {all, {}};
  // What stands for the schedule until somebody measures stays.
  if (combining && !lowering.inNetwork)
    std::swap(all[0], all[1]);
  auto end = all.begin() + std::max<uint64_t>(most, 1);
  return {{all.begin(), end}, {end, all.end()}};
}
