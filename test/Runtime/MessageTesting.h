//===- MessageTesting.h - What tests of messages share ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_MESSAGETESTING_H
#define SCCL_TEST_RUNTIME_MESSAGETESTING_H

#include "LibraryTesting.h"
#include "LoopTransport.h"

namespace sccl {

inline const char *const pairReduce =
    SCCL_TEST_PLANS "/pair-messages-all_reduce.sccl";
inline const char *const pairExchange =
    SCCL_TEST_PLANS "/pair-messages-all_to_all.sccl";
inline const char *const ringGather =
    SCCL_TEST_PLANS "/ring4-messages-all_gather.sccl";
inline const char *const cubeBroadcast =
    SCCL_TEST_PLANS "/cube8-messages-broadcast.sccl";
inline constexpr unsigned cubeRoot = 3;
inline const char *const meshReduce =
    SCCL_TEST_PLANS "/mesh8-messages-all_reduce.sccl";

/// Joins through `network`, with the plan at `path`.
inline scclResult join(Member &member, LoopNetwork &network, const RankEnd &end,
                       const char *path, double timeoutSeconds = 20,
                       size_t scratchBytes = 0, const char *order = nullptr) {
  scclResult result = scclPlanLoad(path, &member.plan);
  if (result != scclSuccess)
    return result;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = timeoutSeconds;
  config.scratchBytes = scratchBytes;
  config.order = order;
  scclTransport transport = network.transport(end);
  result = scclCommInitTransport(&transport, &config, &member.comm);
  return result ? result : scclCommLoad(member.comm, member.plan);
}

/// Of rank `rank`: different values, whose sums are exact.
inline std::vector<float> valuesOf(unsigned rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float((i * 7 + rank * 13) % 1024);
  return values;
}

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_MESSAGETESTING_H
