//===- LibraryTesting.h - What tests of libsccl share -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_LIBRARYTESTING_H
#define SCCL_TEST_RUNTIME_LIBRARYTESTING_H

#include "sccl/Measure/Ranks.h"
#include "sccl/sccl-trace.h"
#include "sccl/sccl.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace sccl {

// Peers write the caller's receive buffer.
inline const char *const allReduce =
    SCCL_TEST_PLANS "/pair-halves-all_reduce.sccl";
// Peers write scratch memory only.
inline const char *const exchange = SCCL_TEST_PLANS "/pair-all_reduce.sccl";
inline const char *const allGather = SCCL_TEST_PLANS "/ring4-all_gather.sccl";
inline const char *const broadcast8 = SCCL_TEST_PLANS "/cube8-broadcast.sccl";
inline const char *const allToAll = SCCL_TEST_PLANS "/pair-all_to_all.sccl";
// Hosts write the caller's receive buffer, whoever has allocated it.
inline const char *const copiedAllToAll =
    SCCL_TEST_PLANS "/pair-dma-all_to_all.sccl";
inline const char *const ptxOnly = SCCL_TEST_PLANS "/pair-ptx.sccl";
inline const char *const bothKinds =
    SCCL_TEST_PLANS "/pair-traced-all_reduce.sccl";

/// A plan and a communicator that go when the test ends.
struct Member {
  scclPlan plan = nullptr;
  scclComm comm = nullptr;
  Member() = default;
  Member(const Member &) = delete;
  ~Member() {
    scclCommDestroy(comm);
    scclPlanDestroy(plan);
  }
  scclResult join(const RankEnd &end, const char *path,
                  double timeoutSeconds = 20, unsigned numRanks = 0) {
    scclResult result = scclPlanLoad(path, &plan);
    if (result != scclSuccess)
      return result;
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.timeoutSeconds = timeoutSeconds;
    return join(end, config, numRanks ? numRanks : end.numRanks);
  }
  /// With the plan that was read.
  scclResult join(const RankEnd &end, const scclConfig &config,
                  unsigned numRanks) {
    scclResult result = scclCommInit(end.rank, numRanks, end.allGather,
                                     end.context, &config, &comm);
    return result ? result : scclCommLoad(comm, plan);
  }
  /// Memory of scclMemAlloc for `count` floats; null if there is none.
  float *allocate(size_t count) {
    void *memory = nullptr;
    scclMemAlloc(comm, count * sizeof(float), &memory);
    return static_cast<float *>(memory);
  }
  scclResult launch(const float *send, float *recv, size_t count) {
    return scclLaunch(comm, plan, send, recv, count, scclFloat32, scclSum,
                      nullptr);
  }
};

struct Stopwatch {
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  }
};

/// A body returns this when all is as it should be; a text of failure is
/// printed, because processes cannot report to GoogleTest.
inline int check(bool condition, const std::string &what) {
  if (!condition)
    fprintf(stderr, "failed: %s (last message: %s)\n", what.c_str(),
            scclGetLastErrorMessage());
  return condition ? 0 : 1;
}

inline bool messageHas(const std::string &part) {
  return std::string(scclGetLastErrorMessage()).find(part) != std::string::npos;
}

inline std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Waits until all ranks have come here.
inline void meet(const RankEnd &end) {
  std::vector<int> all;
  end.gather(0, all);
}

/// all_reduce of `count` floats from `send` to `recv`, checked.
inline int reduceOnce(Member &member, const RankEnd &end, float *send,
                      float *recv, size_t count) {
  for (size_t i = 0; i < count; ++i)
    send[i] = float(i % 100 + end.rank);
  if (int failed = check(member.launch(send, recv, count) == scclSuccess,
                         "launch of " + std::to_string(count)))
    return failed;
  for (size_t i = 0; i < count; ++i)
    if (recv[i] != float(2 * (i % 100) + 1))
      return check(false, "element " + std::to_string(i));
  return 0;
}

/// With ranks as threads, and with ranks as processes.
class EitherWay : public testing::TestWithParam<RanksAs> {};

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_LIBRARYTESTING_H
