//===- GPUTest.cpp - Tests of libsccl's GPU devices -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The drivers are those of fake/Driver.cpp, so these tests need no GPU: they
// show that libsccl calls drivers rightly, not that drivers or kernels work.
//
//===----------------------------------------------------------------------===//

#include "GPUTesting.h"

#include "Runtime/Devices/GPUTarget.h"

using namespace sccl;

INSTANTIATE_TEST_SUITE_P(GPU, EitherGPU,
                         testing::Values(scclDeviceCUDA, scclDeviceHIP),
                         [](const auto &info) {
                           return info.param == scclDeviceCUDA ? "CUDA" : "HIP";
                         });

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

TEST_P(EitherGPU, CollectsAsThreads) {
  Setting four("SCCL_FAKE_DEVICES", "4");
  for (auto [name, ranks, gathers] :
       {std::tuple{"pair-halves-all_reduce", 2, false},
        {"pair-all_reduce", 2, false},
        {"ring4-all_gather", 4, true}}) {
    std::string bytes = gpuPlan(name, kind);
    EXPECT_EQ(0, runRanks(ranks, RanksAs::Threads, [&](const RankEnd &end) {
                return collectAll(end, bytes, kind, gathers, nullptr, ranks);
              }));
  }
  EXPECT_GT(fake.launches(), 100u);
  if (kind == scclDeviceHIP) {
    EXPECT_GT(fake.calls("", "uncached"), 0u);
    EXPECT_EQ(fake.calls("", "fine-grained"), 0u);
  }
}

/// What programs need scratch for fits into the memory that a GPU has for it.
TEST_P(EitherGPU, LaunchesLargeBuffersOnce) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  constexpr size_t count = 4 << 20;
  EXPECT_EQ(
      0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
        Member member;
        if (check(!join(member, end, bytes, kind, 10, 2, /*scratchBytes=*/0),
                  "join"))
          return 1;
        void *send = nullptr, *recv = nullptr;
        bool isRight = false;
        for (void **memory : {&send, &recv})
          if (check(!scclMemAlloc(member.comm, count * sizeof(float), memory),
                    "memory"))
            return 1;
        return check(
            !collect(member, end, false, count, send, recv, nullptr, isRight) &&
                isRight,
            "launch");
      }));
  EXPECT_EQ(fake.launches(), 2u);
}

TEST_P(EitherGPU, CollectsAsProcesses) {
  Setting four("SCCL_FAKE_DEVICES", "4");
  std::string reduce = gpuPlan("pair-halves-all_reduce", kind);
  std::string gather = gpuPlan("ring4-all_gather", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [&](const RankEnd &end) {
              return collectAll(end, reduce, kind, false, nullptr) +
                     check(fake.live() == 0, "nothing left");
            }));
  EXPECT_EQ(0, runRanks(4, RanksAs::Processes, [&](const RankEnd &end) {
              return collectAll(end, gather, kind, true, nullptr, 4) +
                     check(fake.live() == 0, "nothing left");
            }));
}

TEST_P(EitherGPU, FollowsTheCallersStream) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  auto *create = fake.get<int(void **, unsigned)>("cuStreamCreate",
                                                  "hipStreamCreateWithFlags");
  auto *destroy =
      fake.get<int(void *)>("cuStreamDestroy_v2", "hipStreamDestroy");
  auto *fill = fake.get<int(void *, unsigned char, size_t, void *)>(
      "cuMemsetD8Async", "hipMemsetD8Async");
  auto *push = fake.get<int(void *)>("cuCtxPushCurrent_v2", "hipInit");
  EXPECT_EQ(
      0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
        Member member;
        if (check(!join(member, end, bytes, kind), "join"))
          return 1;
        void *stream = nullptr, *send = nullptr, *recv = nullptr;
        constexpr size_t count = 1 << 20;
        // Any context will do for a stream of the fake.
        void *context = nullptr, *popped = nullptr;
        if (fake.isCUDA) {
          fake.get<int(void **, int)>("cuDevicePrimaryCtxRetain", "")(&context,
                                                                      0);
          push(context);
        }
        int failed = check(create(&stream, 1) == 0, "stream") +
                     check(!scclMemAlloc(member.comm, count * 4, &send) &&
                               !scclMemAlloc(member.comm, count * 4, &recv),
                           "scclMemAlloc");
        // 0x01010101 twice: only right if the launch comes after the filling.
        failed += check(fill(send, 1, count * 4, stream) == 0, "fill") +
                  check(!scclLaunch(member.comm, member.plan, send, recv, count,
                                    scclFloat32, scclSum, stream),
                        "launch");
        std::vector<uint32_t> result(count);
        fake.get<int(void *)>("cuStreamSynchronize",
                              "hipStreamSynchronize")(stream);
        scclMemCopy(member.comm, result.data(), recv, count * 4);
        float once, twice;
        uint32_t bits = 0x01010101;
        std::memcpy(&once, &bits, 4);
        twice = once + once;
        std::memcpy(&bits, &twice, 4);
        failed += check(std::count(result.begin(), result.end(), bits) == count,
                        "sum of what the stream wrote");
        failed += check(destroy(stream) == 0, "destroy");
        if (fake.isCUDA) {
          fake.get<int(void **)>("cuCtxPopCurrent_v2", "")(&popped);
          failed += check(popped == context, "the caller's context is back");
          fake.get<int(int)>("cuDevicePrimaryCtxRelease_v2", "")(0);
        }
        meet(end);
        return failed;
      }));
}

TEST_P(EitherGPU, GivesUpOnALateRank) {
  std::string bytes = gpuPlan("pair-all_reduce", kind);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              if (check(!join(member, end, bytes, kind, 0.3), "join"))
                return 1;
              void *send = nullptr, *recv = nullptr;
              scclMemAlloc(member.comm, 4096, &send);
              scclMemAlloc(member.comm, 4096, &recv);
              auto launch = [&] {
                return scclLaunch(member.comm, member.plan, send, recv, 1000,
                                  scclFloat32, scclSum, nullptr);
              };
              int failed = 0;
              if (end.rank == 0)
                failed += check(launch() == scclSuccess, "enqueue");
              secondsToError(member.comm);
              failed +=
                  check(scclCommGetError(member.comm) == scclErrorTimeout &&
                            messageHas("rank 1 did not begin a launch"),
                        "a late rank") +
                  check(launch() == scclErrorTimeout, "afterwards");
              meet(end);
              return failed;
            }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_P(EitherGPU, RefusesMemoryOfTheHost) {
  std::string bytes = gpuPlan("pair-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              if (check(!join(member, end, bytes, kind), "join"))
                return 1;
              std::vector<float> a(10), b(10);
              return check(scclLaunch(member.comm, member.plan, a.data(),
                                      b.data(), 10, scclFloat32, scclSum,
                                      nullptr) == scclErrorInvalidArgument &&
                               messageHas("send is no memory that the "),
                           "memory of the host");
            }));
}

//===----------------------------------------------------------------------===//
// What does not fit
//===----------------------------------------------------------------------===//

TEST_P(EitherGPU, RefusesKernelsThatAreNotResident) {
  Setting none("SCCL_FAKE_BLOCKS", "0");
  expectFailure(scclErrorUnsupported,
                "threads at once, and this GPU holds 0: 0 on each of 8 "
                "multiprocessors");
  EXPECT_EQ(fake.launches(), 0u);
}

TEST_P(EitherGPU, RefusesDevicesThatThereAreNot) {
  {
    Setting one("SCCL_FAKE_DEVICES", "1");
    expectFailure(scclErrorUnsupported,
                  "deviceIndex is 1, and there are 1 " +
                      std::string(fake.isCUDA ? "CUDA" : "HIP") + " devices");
  }
  Setting zero("SCCL_FAKE_DEVICES", "0");
  expectFailure(scclErrorUnsupported, fake.isCUDA
                                          ? "there is no CUDA device here"
                                          : "hipGetDeviceCount failed");
}

TEST_P(EitherGPU, RefusesDevicesThatCannot) {
  {
    Setting never("SCCL_FAKE_NO_COOPERATIVE", "1");
    expectFailure(scclErrorUnsupported, "has no cooperative launches");
  }
  Setting never("SCCL_FAKE_NO_PEERS", "1");
  expectFailure(scclErrorUnsupported, "cannot access memory of device");
}

TEST_P(EitherGPU, TakesFineGrainedMemoryIfThereIsNoUncached) {
  Setting never("SCCL_FAKE_NO_UNCACHED", "1");
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              return collectAll(end, bytes, kind, false, nullptr);
            }));
  if (kind == scclDeviceHIP) {
    EXPECT_GT(fake.calls("", "fine-grained"), 0u);
  }
}

TEST_P(EitherGPU, RefusesCodeThatIsNone) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  plan::Plan broken = *plan::readPlan(bytes);
  for (std::string &blob : broken.blobs)
    blob = "//\n.version 7.0\n";
  bytes = *plan::serialize(broken);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              Member member;
              return check(join(member, end, bytes, kind) == scclErrorDevice &&
                               messageHas(fake.isCUDA
                                              ? "(CUDA error 209): this is no "
                                                "object"
                                              : "(HIP error 209)"),
                           "text as code");
            }));
}

//===----------------------------------------------------------------------===//
// Calls that fail
//===----------------------------------------------------------------------===//

/// Everything that a communicator does, until something fails.
static scclResult useOnce(const RankEnd &end, const std::string &bytes,
                          scclDeviceKind kind) {
  Member member;
  if (scclResult code = join(member, end, bytes, kind, 2))
    return code;
  void *send = nullptr, *recv = nullptr;
  scclResult code = scclMemAlloc(member.comm, 1 << 20, &send);
  if (!code)
    code = scclMemAlloc(member.comm, 1 << 20, &recv);
  bool isRight = false;
  for (size_t count : {size_t(100), size_t(1) << 18})
    if (!code)
      code = collect(member, end, false, count, send, recv, nullptr, isRight);
  meet(end);
  return code;
}

/// CUDA's names and HIP's.
static constexpr std::pair<const char *, const char *> fallible[] = {
    {"cuDeviceGetCount", "hipGetDeviceCount"},
    {"cuDeviceGet", "hipDeviceGet"},
    {"cuDeviceGetAttribute", "hipDeviceGetAttribute"},
    {"cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId"},
    {"cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"},
    {"cuDevicePrimaryCtxRetain", "hipGetDevicePropertiesR0600"},
    {"cuCtxPushCurrent_v2", "hipGetDevice"},
    {"cuCtxEnablePeerAccess", "hipDeviceEnablePeerAccess"},
    {"cuModuleLoadDataEx", "hipModuleLoadData"},
    {"cuModuleGetFunction", "hipModuleGetFunction"},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
     "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"},
    {"cuMemAlloc_v2", "hipExtMallocWithFlags"},
    {"cuMemsetD8Async", "hipMemsetD8Async"},
    {"cuMemHostRegister_v2", "hipHostRegister"},
    {"cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer"},
    {"cuStreamCreate", "hipStreamCreateWithFlags"},
    {"cuStreamQuery", "hipStreamQuery"},
    {"cuEventCreate", "hipEventCreateWithFlags"},
    {"cuEventRecord", "hipEventRecord"},
    {"cuStreamWaitEvent", "hipStreamWaitEvent"},
    {"cuStreamSynchronize", "hipStreamSynchronize"},
    {"cuMemcpyAsync", "hipMemcpyAsync"},
    {"cuLaunchCooperativeKernel", "hipModuleLaunchCooperativeKernel"}};

TEST_P(EitherGPU, ReportsEveryCallThatFails) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  for (auto [cuda, hip] : fallible)
    for (unsigned number : {1, 2}) {
      std::string name = fake.isCUDA ? cuda : hip;
      fake.reset();
      // Of two ways to get memory, only the failure of the last is one.
      bool isLastWay = name == "hipExtMallocWithFlags";
      Setting noOther("SCCL_FAKE_NO_UNCACHED", "1");
      Setting fail("SCCL_FAKE_FAIL", (isLastWay ? "fine-grained" : name) + ":" +
                                         std::to_string(number));
      std::mutex mutex;
      unsigned failures = 0, naming = 0;
      auto begin = std::chrono::steady_clock::now();
      runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
        scclResult code = useOnce(end, bytes, kind);
        std::lock_guard lock(mutex);
        failures += code != scclSuccess;
        naming += code == scclErrorDevice &&
                  messageHas(name + " failed: told to fail (" +
                             (fake.isCUDA ? "CUDA" : "HIP") + " error 999)");
        return 0;
      });
      EXPECT_GE(failures, 1u) << name << " number " << number;
      EXPECT_GE(naming, 1u) << name << " number " << number;
      EXPECT_EQ(fake.live(), 0u) << name << " number " << number;
      EXPECT_LT(std::chrono::steady_clock::now() - begin,
                std::chrono::seconds(10))
          << name << " number " << number;
    }
}

TEST_P(EitherGPU, TellsPeersWhatFailed) {
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  std::string name = fake.isCUDA ? "cuLaunchCooperativeKernel"
                                 : "hipModuleLaunchCooperativeKernel";
  Setting fail("SCCL_FAKE_FAIL", name + ":1");
  std::atomic<unsigned> own = 0, told = 0;
  runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
    scclResult code = useOnce(end, bytes, kind);
    std::string message = scclGetLastErrorMessage();
    std::string cause = name + " failed: told to fail (";
    std::string other = "the communicator failed on rank " +
                        std::to_string(1 - end.rank) + ": " + cause;
    own += code == scclErrorDevice && message.starts_with(cause);
    told += code == scclErrorDevice && message.starts_with(other);
    return 0;
  });
  EXPECT_EQ(own, 1u);
  EXPECT_EQ(told, 1u);
}

TEST_P(EitherGPU, NeedsExportsBetweenProcessesOnly) {
  std::string name = fake.isCUDA ? "cuIpcGetMemHandle" : "hipIpcGetMemHandle";
  Setting fail("SCCL_FAKE_FAIL", name + ":1");
  std::string bytes = gpuPlan("pair-halves-all_reduce", kind);
  EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
              return int(useOnce(end, bytes, kind));
            }));
  fake.reset();
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [&](const RankEnd &end) {
              return check(useOnce(end, bytes, kind) == scclErrorDevice &&
                               messageHas("cannot share memory with "
                                          "processes: " +
                                          name + " failed"),
                           name);
            }));
  fake.reset();
  name = fake.isCUDA ? "cuIpcOpenMemHandle_v2" : "hipIpcOpenMemHandle";
  Setting failImport("SCCL_FAKE_FAIL", name + ":1");
  EXPECT_EQ(0, runRanks(2, RanksAs::Processes, [&](const RankEnd &end) {
              return check(useOnce(end, bytes, kind) == scclErrorDevice &&
                               messageHas(name + " failed"),
                           name) +
                     check(fake.live() == 0, "nothing left");
            }));
}

//===----------------------------------------------------------------------===//
// Code that suits a device
//===----------------------------------------------------------------------===//

static unsigned suits(const GPUTarget &device, const char *target,
                      const char *format) {
  plan::KernelInfo kernel;
  kernel.target = target;
  kernel.format = format;
  return device.suitability(kernel);
}

TEST(GPUTarget, TakesTheBestCodeForNVIDIA) {
  GPUTarget device = GPUTarget::fromCapability(8, 6);
  EXPECT_EQ(device.name, "sm_86");
  for (auto [target, format] : {std::pair{"sm_90", "ptx"},
                                {"sm_90", "cubin"},
                                {"sm_87", "cubin"},
                                {"sm_75", "cubin"},
                                {"sm_80a", "ptx"},
                                {"sm_80a", "cubin"},
                                {"x86-64", "elf"},
                                {"gfx942", "hsaco"},
                                {"sm_", "ptx"},
                                {"sm_80", "elf"}})
    EXPECT_EQ(suits(device, target, format), 0u) << target << " " << format;
  // From worse to better.
  unsigned last = 0;
  for (auto [target, format] : {std::pair{"sm_70", "ptx"},
                                {"sm_80", "ptx"},
                                {"sm_80", "cubin"},
                                {"sm_86", "ptx"},
                                {"sm_86", "cubin"},
                                {"sm_86a", "cubin"}}) {
    EXPECT_GT(suits(device, target, format), last) << target << " " << format;
    last = suits(device, target, format);
  }
  EXPECT_GT(suits(GPUTarget::fromCapability(12, 0), "sm_120a", "ptx"), 0u);
}

TEST(GPUTarget, TakesOnlyItsOwnCodeForAMD) {
  std::string properties(4096, '\0');
  GPUTarget device;
  properties.replace(0, 11, "AMD gfx-ish");
  EXPECT_EQ(GPUTarget::fromProperties(properties, device).code(),
            scclErrorUnsupported);
  properties.replace(1160, 15, "gfx90a:sramecc+");
  ASSERT_TRUE(GPUTarget::fromProperties(properties, device).ok());
  EXPECT_EQ(device.name, "gfx90a");
  EXPECT_FALSE(device.wantsUncached);
  EXPECT_GT(suits(device, "gfx90a", "hsaco"), 0u);
  EXPECT_EQ(suits(device, "gfx908", "hsaco"), 0u);
  EXPECT_EQ(suits(device, "gfx90a", "ptx"), 0u);
  properties.replace(1160, 15, std::string("gfx950\0", 7));
  ASSERT_TRUE(GPUTarget::fromProperties(properties, device).ok());
  EXPECT_EQ(device.name, "gfx950");
  EXPECT_TRUE(device.wantsUncached);
}
