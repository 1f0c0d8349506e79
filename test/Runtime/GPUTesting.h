//===- GPUTesting.h - What tests of GPU devices share -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_GPUTESTING_H
#define SCCL_TEST_RUNTIME_GPUTESTING_H

#include "LibraryTesting.h"
#include "fake/Plan.h"

#include "sccl/Plan/Plan.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>
#include <thread>

namespace sccl {
/// A driver of fake/, under the name by which libsccl looks for it.
struct Fake {
  void *library;
  bool isCUDA;

  explicit Fake(scclDeviceKind kind) : isCUDA(kind == scclDeviceCUDA) {
    library = dlopen(isCUDA ? SCCL_TEST_FAKES "/libcuda.so.1"
                            : SCCL_TEST_FAKES "/libamdhip64.so",
                     RTLD_NOW | RTLD_GLOBAL);
  }
  template <typename Fn> Fn *get(const char *cuda, const char *hip) const {
    return reinterpret_cast<Fn *>(dlsym(library, isCUDA ? cuda : hip));
  }
  void reset() const { get<void()>("scclFakeReset", "scclFakeReset")(); }
  unsigned live() const {
    return get<unsigned()>("scclFakeLive", "scclFakeLive")();
  }
  unsigned calls(const char *cuda, const char *hip) const {
    return get<unsigned(const char *)>("scclFakeCalls",
                                       "scclFakeCalls")(isCUDA ? cuda : hip);
  }
  /// Of the last launch.
  unsigned blocks() const {
    return get<unsigned()>("scclFakeBlocks", "scclFakeBlocks")();
  }
  unsigned launches() const {
    return calls("cuLaunchCooperativeKernel",
                 "hipModuleLaunchCooperativeKernel");
  }
};

/// Sets a variable of the environment for a while.
struct Setting {
  std::string name;
  Setting(const std::string &name, const std::string &value) : name(name) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  ~Setting() { unsetenv(name.c_str()); }
};

/// A plan for the host that says it is one for a GPU, with virtual kernels or
/// without.
inline std::string gpuPlan(const char *name, scclDeviceKind kind,
                           bool isVirtual = false) {
  std::string path = std::string(SCCL_TEST_PLANS "/") + name + ".sccl";
  return fake::asGPUPlan(readFile(path.c_str()), kind == scclDeviceCUDA,
                         isVirtual);
}

inline scclResult join(Member &member, const RankEnd &end,
                       const std::string &bytes, scclDeviceKind kind,
                       double timeoutSeconds = 10, int devices = 2,
                       size_t scratchBytes = 4 << 20) {
  scclResult result =
      scclPlanLoadMemory(bytes.data(), bytes.size(), &member.plan);
  if (result != scclSuccess)
    return result;
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.device = kind;
  config.deviceIndex = end.rank % devices;
  config.timeoutSeconds = timeoutSeconds;
  config.scratchBytes = scratchBytes;
  return member.join(end, config, end.numRanks);
}

/// How many seconds pass until `comm` has an error, at most `limit`.
inline double secondsToError(scclComm comm, double limit = 10) {
  Stopwatch watch;
  while (scclCommGetError(comm) == scclSuccess && watch.seconds() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return watch.seconds();
}

/// One collective on whole buffers of the device, compared with its definition.
/// Returns the code of the first call that failed.
inline scclResult collect(Member &member, const RankEnd &end, bool gathers,
                          size_t count, void *sendMemory, void *recvMemory,
                          void *stream, bool &isRight) {
  size_t outputs = gathers ? end.numRanks * count : count;
  auto value = [&](unsigned rank, size_t i) {
    return float((7 * rank + i) % 1000);
  };
  std::vector<float> send(count), recv(outputs, -1);
  for (size_t i = 0; i < count; ++i)
    send[i] = value(end.rank, i);
  for (auto [to, from] : {std::pair{sendMemory, &send}, {recvMemory, &recv}})
    if (scclResult code = scclMemCopy(member.comm, to, from->data(),
                                      from->size() * sizeof(float)))
      return code;
  if (scclResult code =
          scclLaunch(member.comm, member.plan, sendMemory, recvMemory, count,
                     scclFloat32, scclSum, stream))
    return code;
  if (scclResult code = scclMemCopy(member.comm, recv.data(), recvMemory,
                                    outputs * sizeof(float)))
    return code;
  isRight = true;
  for (size_t i = 0; i < outputs; ++i) {
    float expected = 0;
    for (unsigned rank = 0; rank < end.numRanks; ++rank)
      if (!gathers || i / count == rank)
        expected += value(rank, i % count);
    isRight &= recv[i] == expected;
  }
  return scclSuccess;
}

class EitherGPU : public testing::TestWithParam<scclDeviceKind> {
protected:
  EitherGPU() : kind(GetParam()), fake(kind) {}
  void SetUp() override {
    ASSERT_NE(fake.library, nullptr) << dlerror();
    fake.reset();
    ASSERT_EQ(fake.live(), 0u);
  }
  void TearDown() override { EXPECT_EQ(fake.live(), 0u); }

  /// Joins with ranks as threads; all of them must get the same.
  void expectFailure(scclResult code, const std::string &message,
                     int devices = 2) {
    std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                Member member;
                return check(join(member, end, bytes, kind, 10, devices) ==
                                     code &&
                                 messageHas(message),
                             message);
              }));
  }
  scclDeviceKind kind;
  Fake fake;
};

inline int collectAll(const RankEnd &end, const std::string &bytes,
                      scclDeviceKind kind, bool gathers, void *stream,
                      int devices = 2) {
  Member member;
  if (check(!join(member, end, bytes, kind, 10, devices), "join"))
    return 1;
  constexpr size_t most = 700001;
  void *send = nullptr, *recv = nullptr;
  if (check(!scclMemAlloc(member.comm, most * 4, &send) &&
                !scclMemAlloc(member.comm, most * 4 * end.numRanks, &recv),
            "scclMemAlloc"))
    return 1;
  scclChoice choice = {};
  choice.size = sizeof(choice);
  auto collectOnce = [&](size_t count, const scclChoice *chosen) {
    bool isRight = false;
    return check(!scclCommSetChoice(member.comm, member.plan, chosen),
                 "choice") +
           check(!collect(member, end, gathers, count, send, recv, stream,
                          isRight) &&
                     isRight,
                 std::to_string(count) + " elements, program " +
                     std::to_string(choice.program) + ", path " +
                     std::to_string(choice.path));
  };
  int failed = 0;
  for (size_t count : {size_t(1), size_t(3), size_t(1000), size_t(65537), most})
    failed += collectOnce(count, nullptr);
  // push, pull, scratch; and dma, where ranks meet on the host.
  bool isShared = devices < int(end.numRanks);
  choice.program = 3;
  if (!isShared)
    failed += check(scclCommSetChoice(member.comm, member.plan, &choice) ==
                        scclErrorUnsupported,
                    "dma cannot be enqueued");
  choice.program = 0;
  for (; choice.program < (isShared ? 4 : 3); ++choice.program)
    for (size_t count : {size_t(3), choice.program == 0 ? most : 65537})
      for (scclPath path : {scclPathDirect, scclPathStaging}) {
        choice.path = path;
        choice.pieceBytes = path == scclPathStaging ? 1 << 16 : 0;
        failed += collectOnce(count, &choice);
      }
  meet(end);
  return failed;
}
} // namespace sccl

#endif // SCCL_TEST_RUNTIME_GPUTESTING_H
