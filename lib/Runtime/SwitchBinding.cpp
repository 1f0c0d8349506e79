//===- SwitchBinding.cpp - Scratch of a group of ranks at a switch --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>

using namespace sccl;

/// Finds the group of this rank, if the device has code for programs whose
/// transfers pass a switch and can execute it. If it cannot, they are left out,
/// unless there are no others. Code for CPUs needs no switch.
Status CommPlan::chooseSwitch() {
  auto isAtSwitch = [](const LoadedProgram &program) {
    return program.isAtSwitch();
  };
  auto first = std::find_if(programs.begin(), programs.end(), isAtSwitch);
  if (group.device->isSynchronous() || first == programs.end())
    return {};
  const std::vector<unsigned> &groups = first->info->switchGroups;
  for (const LoadedProgram &program : programs)
    if (program.isAtSwitch() && program.info->switchGroups != groups)
      return {scclErrorUnsupported,
              "the plan for " + manifest.collective +
                  " has programs with different groups of ranks at switches"};
  Status can = group.together
                   ? Status(scclErrorUnsupported,
                            "ranks that share a device have no multicast "
                            "through a switch")
                   : group.device->checkSwitch();
  if (can.ok()) {
    for (unsigned other = 0; other < numRanks; ++other)
      if (groups[other] == groups[rank])
        switchRanks.push_back(other);
    return {};
  }
  std::erase_if(programs, isAtSwitch);
  if (!programs.empty())
    return {};
  return {can.code(), "the plan for " + manifest.collective +
                          " has only programs with multicast, and " +
                          can.message()};
}

/// Collective. The lowest rank of a group has the switch; all join it before
/// any of them binds its memory. A rank by itself has none.
Status CommPlan::bindAtSwitch() {
  struct Offer {
    DeviceHandle handle;
    Outcome outcome;
  };
  const Bootstrap &bootstrap = group.bootstrap;
  unsigned leader = switchRanks.front();
  Offer offer = {};
  Status status = attempt([&]() -> Status {
    if (rank != leader || switchRanks.size() == 1)
      return {};
    Status made = group.device->makeSwitch(layouts[rank].atSwitch,
                                           switchRanks.size(), switchMemory);
    if (made.ok())
      offer.handle = switchMemory->handle();
    return made;
  });
  offer.outcome = Outcome(status);
  Gathered<Offer> offers(numRanks);
  if (Status gathered = bootstrap.gather(offer, offers); !gathered.ok())
    return gathered;
  if (status = bootstrap.agree(status, offers); !status.ok())
    return status;
  status = bootstrap.agree(attempt([&]() -> Status {
    return rank == leader
               ? Status()
               : group.device->joinSwitch(offers[leader].handle, switchMemory);
  }));
  if (switchMemory)
    switchMemory->seal();
  if (!status.ok())
    return status;
  return bootstrap.agree(attempt([&] {
    Status bound = switchMemory ? switchMemory->bind(*memory[rank]) : Status();
    return bound.ok() ? finish() : bound;
  }));
}
