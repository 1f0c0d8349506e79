//===- ScheduleFacts.cpp - What a plan says about a schedule --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleFacts.h"

#include "sccl/Dialect/Coll/ImportExport.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Mixes the bits of `value`, as the finalizer of splitmix64 does.
static uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

ScheduleFacts sccl::factsOf(ScheduleOp schedule, const Collective &collective) {
  Schedule withoutSends;
  uint64_t ranges = 0;
  std::array<uint64_t, 2> digest = {schedule.getPeriod().value_or(0), 0};
  for (StepOp step : schedule.getBody().getOps<StepOp>()) {
    withoutSends.steps.emplace_back().rounds = step.getRounds();
    // Sums do not depend on the order.
    std::array<uint64_t, 2> sums = {step.getRounds(), 0};
    for (auto op : step.getBody().getOps<SendOpInterface>()) {
      ranges += op.getRanges().size() / 3;
      Send send = importSend(op);
      uint64_t link = mix(uint64_t(send.src) << 32 | send.dst) +
                      (uint64_t(send.kept) << 32 | uint64_t(send.keep) << 24 |
                       uint64_t(send.action) << 16 |
                       uint64_t(send.payload) << 8 | uint64_t(send.transport));
      uint64_t seeds[] = {mix(link), mix(link + 0x9e3779b97f4a7c15)};
      op.forEachChunk([&](uint32_t chunk) {
        for (unsigned i = 0; i < 2; ++i)
          sums[i] += mix(seeds[i] + chunk);
      });
    }
    for (unsigned i = 0; i < 2; ++i)
      digest[i] = mix(digest[i] + sums[i]);
  }
  return {costOf(withoutSends, collective), withoutSends.rounds(), digest,
          ranges};
}
