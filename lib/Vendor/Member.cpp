//===- Member.cpp - A communicator of two libraries -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Member.h"

#include "RealLibrary.h"
#include "Runtime/Graveyard.h"

#include "sccl/Model/SumTree.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

using namespace sccl;
using namespace sccl::vendor;

static constinit sccl::Graveyard<Member> goneMembers;

void Member::leave() {
  if (ours)
    scclCommDestroy(ours);
  ours = nullptr;
  meeting.reset();
}

ncclComm_t sccl::vendor::endMember(Member *member) {
  if (!member || member->isGone.exchange(true))
    return nullptr;
  member->leave();
  ncclComm_t real = member->real.release();
  goneMembers.bury(member);
  return real;
}

void Member::abortOurs() {
  if (ours)
    scclCommAbort(ours);
  while (calls > 0)
    usleep(100);
}

ncclResult_t Configuration::take(const ncclConfig_t *config) {
  constexpr size_t least = sizeof(size_t), most = 1 << 12;
  size_t size = 0;
  if (!config)
    return ncclSuccess;
  std::memcpy(&size, config, sizeof size); // its first field
  if (size < least || size > most)
    return failWith(ncclInvalidArgument,
                    "the configuration is not NCCL_CONFIG_INITIALIZER");
  auto *first = static_cast<const char *>(config);
  bytes.assign(first, first + size);
  return ncclSuccess;
}

ncclResult_t sccl::vendor::asVendor(scclResult code) {
  switch (code) {
  case scclSuccess:
    return ncclSuccess;
  case scclErrorInvalidArgument:
  case scclErrorInvalidPlan:
  case scclErrorMismatch:
    return failWith(ncclInvalidArgument, scclGetLastErrorMessage());
  case scclErrorUnsupported:
  case scclErrorBusy:
  case scclErrorAborted:
    return failWith(ncclInvalidUsage, scclGetLastErrorMessage());
  case scclErrorTimeout:
  case scclErrorRankLost:
    return failWith(ncclRemoteError, scclGetLastErrorMessage());
  case scclErrorDevice:
    return failWith(ncclUnhandledCudaError, scclGetLastErrorMessage());
  case scclErrorOutOfMemory:
  case scclErrorSystem:
    return failWith(ncclSystemError, scclGetLastErrorMessage());
  default:
    return failWith(ncclInternalError, scclGetLastErrorMessage());
  }
}

namespace {
/// What the environment says: the plans of SCCL_PLAN_PATH for a number of
/// ranks, SCCL_ORDER, SCCL_ONE_ROUNDING and SCCL_NCCL_TIMEOUT.
struct Settings {
  std::vector<scclPlan> plans;
  std::string order; ///< empty if any will do
  bool oneRounding = false;
  double timeout = 1800; ///< seconds; NCCL waits for ever
  std::string problem;   ///< the first one, such as a file that is no plan
  std::string hashes;
  ~Settings() {
    for (scclPlan plan : plans)
      scclPlanDestroy(plan);
  }

  explicit Settings(int numRanks) {
    problem = libraryProblem();
    readDevice();
    readTimeout();
    readOrder();
    readOneRounding();
    const char *path = secure_getenv("SCCL_PLAN_PATH");
    std::string rest = path ? path : "";
    while (!rest.empty() && problem.empty()) {
      size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0)
        readEntry(rest.substr(0, end), numRanks);
      rest.erase(0, end + 1);
    }
  }

private:
  void readDevice() {
    const char *kind = std::getenv("SCCL_NCCL_DEVICE");
    if (kind && *kind && std::strcmp(kind, "cpu") &&
        std::strcmp(kind, "cuda") && std::strcmp(kind, "hip"))
      problem = "SCCL_NCCL_DEVICE is '" + std::string(kind) +
                "', expected cpu, cuda or hip";
  }

  /// An order of summation, or a file with a tree.
  void readOrder() {
    const char *text = secure_getenv("SCCL_ORDER");
    if (!text || !*text)
      return;
    Result<SumOrder> asked = SumOrder::parse(text);
    if (std::ifstream file(text); !asked && file) {
      std::string tree(std::istreambuf_iterator<char>(file), {});
      asked = SumOrder::parse(tree.substr(0, tree.find_last_not_of("\n ") + 1));
    }
    if (!asked)
      problem = "SCCL_ORDER: " + asked.error();
    else if (*asked != SumOrder::Any)
      order = asked->toString();
  }

  void readOneRounding() {
    const char *text = std::getenv("SCCL_ONE_ROUNDING");
    if (!text || !*text || !std::strcmp(text, "0"))
      return;
    if (std::strcmp(text, "1"))
      problem =
          "SCCL_ONE_ROUNDING is '" + std::string(text) + "', expected 0 or 1";
    oneRounding = true;
  }

  void readTimeout() {
    const char *text = std::getenv("SCCL_NCCL_TIMEOUT");
    if (!text || !*text)
      return;
    const char *end = text + std::strlen(text);
    auto [rest, error] = std::from_chars(text, end, timeout);
    if (rest != end || error != std::errc() || !(timeout > 0))
      problem = "SCCL_NCCL_TIMEOUT is '" + std::string(text) +
                "', expected seconds, more than 0, or inf";
    timeout = std::min(timeout, 1e8); // the most that libsccl takes
  }

  void readEntry(const std::string &entry, int numRanks) {
    namespace fs = std::filesystem;
    std::error_code error;
    std::vector<std::string> files;
    if (fs::is_directory(entry, error)) {
      for (const auto &file : fs::directory_iterator(entry, error))
        if (file.path().extension() == ".sccl")
          files.push_back(file.path().string());
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(entry);
    }
    for (const std::string &file : files)
      if (problem.empty())
        read(file, numRanks);
  }

  void read(const std::string &file, int numRanks) {
    scclPlan plan = nullptr;
    scclPlanInfo info = {};
    info.size = sizeof info;
    if (scclPlanLoad(file.c_str(), &plan) || scclPlanGetInfo(plan, &info)) {
      problem = "SCCL_PLAN_PATH: " + std::string(scclGetLastErrorMessage());
      return;
    }
    if (info.ranks != numRanks) {
      scclPlanDestroy(plan);
      return;
    }
    plans.push_back(plan);
    hashes += std::string(info.hash).substr(0, 16);
  }
};
} // namespace

/// Bytes by way of the member's meeting, for libsccl.
static int gatherBytes(void *context, const void *mine, void *all,
                       size_t bytes) {
  return !static_cast<Rendezvous *>(context)->gather(mine, all, bytes);
}

static scclConfig makeConfig(int device, const Settings &settings) {
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  if (usesHostMemory())
    config.device = scclDeviceCPU;
  else if (usesCUDA())
    config.device = scclDeviceCUDA;
  else
    config.device = scclDeviceHIP;
  config.deviceIndex = config.device == scclDeviceCPU ? 0 : device;
  config.timeoutSeconds = settings.timeout;
  config.order = settings.order.empty() ? nullptr : settings.order.c_str();
  config.oneRounding = settings.oneRounding;
  return config;
}

/// The device that is current on this thread.
static std::optional<int> currentDevice() {
  using Function = int (*)(int *);
  auto function = reinterpret_cast<Function>(
      driverFunction("cuCtxGetDevice", "hipGetDevice"));
  int device = 0;
  if (!function || function(&device))
    return std::nullopt;
  return device;
}

/// The communicator of the vendor's library; none if some rank has no library.
static ncclResult_t joinReal(Joining &joining, Member &member) {
  std::vector<std::string> have =
      member.meeting->gatherText(hasRealLibrary() ? "yes" : "no");
  if (have.empty())
    return failWith(ncclRemoteError, "a rank has gone");
  if (std::count(have.begin(), have.end(), "yes") != member.numRanks)
    return ncclSuccess;
  ncclUniqueId mine = {};
  if (member.rank == 0)
    if (ncclResult_t code = callReal("ncclGetUniqueId", &mine))
      return code;
  std::vector<ncclUniqueId> ids(member.numRanks);
  if (!member.meeting->gather(&mine, ids.data(), sizeof mine))
    return failWith(ncclRemoteError, "a rank has gone");
  ncclComm_t made = nullptr;
  ncclResult_t code =
      joining.config.isGiven()
          ? callReal("ncclCommInitRankConfig", &made, member.numRanks, ids[0],
                     member.rank, joining.config.get())
          : callReal("ncclCommInitRank", &made, member.numRanks, ids[0],
                     member.rank);
  member.real.reset(made);
  return settleReal(made, code);
}

/// Fails on all ranks if settings of one make no sense, or they differ.
static ncclResult_t agree(const Settings &settings, Member &member) {
  // Of long texts only the begin is compared: their number stands there.
  std::string mine =
      "+" + std::to_string(settings.plans.size()) + " " + settings.hashes;
  std::vector<std::string> words = member.meeting->gatherText(
      settings.problem.empty() ? mine : settings.problem);
  if (words.empty())
    return failWith(ncclRemoteError, "a rank has gone");
  for (const std::string &word : words)
    if (word[0] != '+')
      return failWith(ncclInvalidArgument, word.c_str());
  for (const std::string &word : words)
    if (word != words[0])
      return failWith(ncclInvalidArgument,
                      "SCCL_PLAN_PATH: ranks have different plans");
  std::vector<std::string> orders = member.meeting->gatherText(
      settings.order + (settings.oneRounding ? " rounded once" : ""));
  if (orders.empty())
    return failWith(ncclRemoteError, "a rank has gone");
  if (std::count(orders.begin(), orders.end(), orders[0]) != member.numRanks)
    return failWith(ncclInvalidArgument,
                    "SCCL_ORDER and SCCL_ONE_ROUNDING: ranks ask for different "
                    "sums");
  return ncclSuccess;
}

/// Loads the plans that have code for the device. Fails if none has.
static scclResult joinOurs(const Settings &settings, Member &member) {
  scclConfig config = makeConfig(member.device, settings);
  if (scclResult code =
          scclCommInit(member.rank, member.numRanks, gatherBytes,
                       member.meeting.get(), &config, &member.ours))
    return code;
  bool isServed = settings.plans.empty();
  for (scclPlan plan : settings.plans) {
    scclResult code = scclCommLoad(member.ours, plan);
    if (code != scclSuccess && code != scclErrorUnsupported)
      return code;
    isServed |= code == scclSuccess;
  }
  return isServed ? scclSuccess : scclErrorUnsupported;
}

ncclResult_t sccl::vendor::joinRanks(Joining joining, ncclComm_t &result) {
  result = nullptr;
  auto member = std::make_unique<Member>();
  member->rank = joining.rank;
  member->numRanks = joining.numRanks;
  member->real.reset(joining.real);
  std::optional<int> device = joining.device ? joining.device : currentDevice();
  member->device = device.value_or(joining.rank);
  std::string problem;
  member->meeting = Rendezvous::join(joining.address, joining.rank,
                                     joining.numRanks, problem);
  if (!member->meeting)
    return failWith(ncclSystemError, problem.c_str());
  if (joining.makesReal)
    if (ncclResult_t code = joinReal(joining, *member))
      return code;
  Settings settings(joining.numRanks);
  if (ncclResult_t code = agree(settings, *member))
    return code;
  member->order = settings.order;
  member->oneRounding = settings.oneRounding;
  if (settings.plans.empty() && member->real) {
    result = member.release();
    return ncclSuccess;
  }
  if (scclResult code = joinOurs(settings, *member)) {
    // All ranks fail if one does.
    if (!member->real)
      return asVendor(code);
    if (joining.rank == 0)
      std::fprintf(stderr,
                   "sccl: no plans, all by the vendor's library%s: %s\n",
                   member->order.empty() && !member->oneRounding
                       ? ""
                       : ", but for sums of floats",
                   scclGetLastErrorMessage());
    if (member->ours)
      scclCommDestroy(member->ours);
    member->ours = nullptr;
  }
  result = member.release();
  return ncclSuccess;
}
