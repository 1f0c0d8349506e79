//===- TopologyNotes.cpp - Notes about topologies -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TopologyNotes.h"

#include "Progress.h"

#include "sccl/Model/LimitedLinks.h"
#include "sccl/Model/Text.h"

#include "llvm/Support/WithColor.h"

using namespace sccl;

void driver::noteUnlimitedLinks(const Topology &topology) {
  constexpr unsigned mostNamed = 8;
  std::vector<bool> isLimited = limitedLinks(topology);
  std::string names;
  unsigned count = 0;
  for (size_t i = 0; i < isLimited.size(); ++i) {
    if (isLimited[i] || ++count > mostNamed)
      continue;
    const Link &link = topology.links()[i];
    names += (names.empty() ? "" : ", ") + linkText(link.src, link.dst);
  }
  if (count == 0)
    return;
  if (count > mostNamed)
    names += " and " + std::to_string(count - mostNamed) + " more";
  Progress::clear();
  llvm::WithColor::note(llvm::errs(), "sccl")
      << escapeControls(topology.name()) << " has unlimited links (" << names
      << "): costs and bounds count them as free\n";
}
