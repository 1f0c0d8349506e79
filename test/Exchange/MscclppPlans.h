//===- MscclppPlans.h - Plans of MSCCL++ for tests --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EXCHANGE_MSCCLPPPLANS_H
#define SCCL_TEST_EXCHANGE_MSCCLPPPLANS_H

#include "sccl/Exchange/Mscclpp.h"

#include <functional>

namespace sccl::exchange::testing {

using enum MscclppKind;

inline MscclppChunks at(Buffer buffer, uint32_t first, uint32_t count = 1) {
  return {false, buffer, 0, first, count};
}
inline MscclppChunks of(uint32_t remote, uint32_t first, uint32_t count = 1) {
  return {true, Buffer::Input, remote, first, count};
}

inline MscclppOperation make(MscclppKind kind,
                             std::vector<MscclppChunks> sources,
                             std::vector<MscclppChunks> destinations) {
  MscclppOperation operation;
  operation.kind = kind;
  operation.sources = std::move(sources);
  operation.destinations = std::move(destinations);
  for (const auto *all : {&operation.sources, &operation.destinations})
    for (const MscclppChunks &chunks : *all)
      if (chunks.isRemote)
        operation.channel = MscclppChannel::Memory;
  return operation;
}
inline MscclppOperation onChannel(MscclppKind kind) {
  MscclppOperation operation;
  operation.kind = kind;
  operation.channel = MscclppChannel::Memory;
  operation.channels = {0};
  return operation;
}
inline MscclppOperation nop() { return {}; }
inline MscclppOperation onSemaphore(MscclppKind kind, uint32_t semaphore) {
  MscclppOperation operation;
  operation.kind = kind;
  operation.semaphores = {semaphore};
  return operation;
}

/// Each rank has, for each other, a channel, a remote buffer, and a block whose
/// only ones they are; and after them blocks with neither.
inline MscclppPlan makeAllPairs(
    const char *collective, uint32_t ranks, Buffer remote, uint32_t inputs,
    uint32_t outputs, uint32_t scratch,
    const std::function<std::vector<MscclppOperation>(uint32_t, uint32_t)>
        &operations) {
  MscclppPlan plan;
  plan.name = "test";
  plan.collective = collective;
  plan.protocol = "Simple";
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    MscclppGpu gpu{{}, inputs, outputs, scratch, {}, {}, {}, {}};
    for (uint32_t peer = 0; peer < ranks; ++peer) {
      MscclppBlock block;
      block.operations = operations(rank, peer);
      if (peer != rank) {
        auto number = uint32_t(gpu.remotes.size());
        gpu.peers.memory.push_back(peer);
        gpu.remotes.push_back({{}, peer, remote, true, false});
        block.channels.memory = {number};
        block.remotes.memory = {number};
      }
      gpu.blocks.push_back(std::move(block));
    }
    plan.gpus.push_back(std::move(gpu));
  }
  return plan;
}

/// Everyone puts what it has into everyone's output.
inline MscclppPlan makeAllGather(uint32_t ranks) {
  return makeAllPairs(
      "allgather", ranks, Buffer::Output, 1, ranks, 0,
      [](uint32_t rank, uint32_t peer) -> std::vector<MscclppOperation> {
        if (peer == rank)
          return {
              make(Copy, {at(Buffer::Input, 0)}, {at(Buffer::Output, rank)})};
        return {onChannel(RelaxedSignal),
                onChannel(RelaxedWait),
                nop(),
                make(Put, {at(Buffer::Input, 0)}, {of(0, rank)}),
                nop(),
                onChannel(Signal),
                onChannel(Wait)};
      });
}

/// Everyone puts its input as LL words into everyone's scratch memory, where a
/// block sums it up.
inline MscclppPlan makeAllReduceLL(uint32_t ranks) {
  MscclppPlan plan = makeAllPairs(
      "allreduce", ranks, Buffer::Scratch, 2, 2, 2 * ranks,
      [&](uint32_t rank, uint32_t peer) -> std::vector<MscclppOperation> {
        if (peer != rank)
          return {make(PutLL, {at(Buffer::Input, 0, 2)}, {of(0, 2 * rank, 2)})};
        MscclppOperation sum = make(ReduceLL, {at(Buffer::Input, 0, 2)},
                                    {at(Buffer::Output, 0, 2)});
        for (uint32_t other = 0; other < ranks; ++other)
          if (other != rank)
            sum.sources.push_back(at(Buffer::Scratch, 2 * other, 2));
        return {sum};
      });
  plan.protocol = "LL";
  plan.doublesScratch = true;
  return plan;
}

/// Everyone reads everyone's part of a scatter's sum in place, in turn.
inline MscclppPlan makeReduceScatter(uint32_t ranks) {
  MscclppPlan plan = makeAllPairs(
      "reducescatter", ranks, Buffer::Input, ranks, 1, 0,
      [&](uint32_t rank, uint32_t peer) -> std::vector<MscclppOperation> {
        if (peer == rank)
          return {};
        std::vector<MscclppOperation> all = {onChannel(Signal),
                                             onChannel(Wait)};
        bool isFirst = peer == (rank == 0 ? 1 : 0);
        bool isLast = peer == (rank + 1 == ranks ? ranks - 2 : ranks - 1);
        auto before = peer - 1 - (peer - 1 == rank);
        if (!isFirst)
          all.push_back(onSemaphore(Acquire, before));
        all.push_back(nop());
        all.push_back(make(
            ReadReduce,
            {at(isFirst ? Buffer::Input : Buffer::Output, isFirst ? rank : 0),
             of(0, rank)},
            {at(Buffer::Output, 0)}));
        all.push_back(nop());
        if (!isLast)
          all.push_back(onSemaphore(Release, peer));
        all.push_back(onChannel(Signal));
        all.push_back(onChannel(Wait));
        return all;
      });
  for (MscclppGpu &gpu : plan.gpus)
    gpu.semaphores.assign(ranks, 0);
  return plan;
}

} // namespace sccl::exchange::testing

#endif // SCCL_TEST_EXCHANGE_MSCCLPPPLANS_H
