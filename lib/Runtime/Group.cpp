//===- Group.cpp - Joining a group of ranks -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Group.h"

#include "TimeLimit.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace sccl;

namespace sccl {
/// What ranks tell each other when they join.
struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t rank, numRanks;
  char target[32];
  char deviceId[32];
  uint64_t machine;
  ProcessId process;
  uint64_t probe; ///< where it is
  SharedMemoryHandle control;
  Outcome outcome;
};
} // namespace sccl

static constexpr uint32_t helloMagic = 0x4c434353; // "SCCL"
Group::~Group() { watchdog.stop(); }

Status Group::checkProcess() const {
  if (!isInherited())
    return {};
  return {scclErrorUnsupported,
          "process " + std::to_string(processes[own].pid) +
              " has made the communicator, and this is a child of it, which "
              "may only destroy it"};
}

void Group::unmap() {
  if (device->isSynchronous())
    regions.clear();
  plane.unmap();
}

/// The part of joining that needs nobody else.
Status Group::prepare() {
  if (Status status = watchForks(); !status.ok())
    return status;
  if (Status status = createDevice(config, device); !status.ok())
    return status;
  probe = probeMark + own;
  return plane.create(own, count);
}

/// Fails on every rank in the same way if the ranks do not fit together (check
/// M1).
static Status compareHellos(const Gathered<Hello> &hellos, unsigned rank) {
  const Hello &own = hellos[rank];
  auto differs = [&](unsigned other, const std::string &what) {
    return Status(scclErrorMismatch, "rank " + std::to_string(other) + " " +
                                         what + " than rank " +
                                         std::to_string(rank) + " (M1)");
  };
  for (unsigned other = 0; other < hellos.size(); ++other) {
    const Hello &hello = hellos[other];
    if (hello.magic != own.magic || hello.version != own.version)
      return differs(other, "has another version of libsccl");
    if (hello.rank != other)
      return {scclErrorMismatch,
              "the all-gather put rank " + std::to_string(hello.rank) +
                  " in the place of rank " + std::to_string(other)};
    if (hello.numRanks != own.numRanks)
      return differs(other, "expects another number of ranks (" +
                                std::to_string(hello.numRanks) + ")");
  }
  return {};
}

/// The same if they are on several hosts.
static Status compareMachines(const Gathered<Hello> &hellos, unsigned rank) {
  for (unsigned other = 0; other < hellos.size(); ++other)
    if (hellos[other].machine != hellos[rank].machine)
      return {scclErrorUnsupported,
              "rank " + std::to_string(other) +
                  " is on another machine, or in another PID namespace, "
                  "than rank " +
                  std::to_string(rank)};
  return {};
}

/// The same for what is only known if all could prepare.
static Status compareResources(const Gathered<Hello> &hellos, unsigned rank) {
  const Hello &own = hellos[rank];
  for (unsigned other = 0; other < hellos.size(); ++other) {
    const Hello &hello = hellos[other];
    if (std::memcmp(hello.target, own.target, sizeof(own.target)) != 0)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " has another device than rank " +
                                     std::to_string(rank)};
  }
  return {};
}

/// What a rank says if `status` is all that there is to say.
static Hello greet(unsigned rank, unsigned numRanks, const Status &status) {
  Hello hello = {};
  hello.magic = helloMagic;
  hello.version = SCCL_VERSION_CODE;
  hello.rank = rank;
  hello.numRanks = numRanks;
  hello.outcome = Outcome(status);
  return hello;
}

Status Group::decline(unsigned rank, unsigned numRanks,
                      const Bootstrap &bootstrap, const Status &why) {
  Gathered<Hello> hellos(numRanks);
  (void)bootstrap.gather(greet(rank, numRanks, why), hellos);
  return why;
}

Status Group::connect(const Status &arguments) {
  uint64_t machine = 0;
  ProcessId process;
  Status status = attempt([&] {
    Status status = arguments;
    if (status.ok())
      status = prepare();
    if (status.ok())
      status = machineId(machine, own);
    if (status.ok())
      status = ProcessId::find(getpid(), process);
    return status;
  });
  Hello hello = greet(own, count, status);
  hello.machine = machine;
  hello.process = process;
  if (status.ok()) {
    std::strncpy(hello.target, device->target().c_str(),
                 sizeof(hello.target) - 1);
    std::strncpy(hello.deviceId, device->id().c_str(),
                 sizeof(hello.deviceId) - 1);
    hello.probe = reinterpret_cast<uintptr_t>(&probe);
    hello.control = plane.handle();
  }
  Gathered<Hello> hellos(count);
  Status gathered = bootstrap.gather(hello, hellos);
  if (!arguments.ok())
    return arguments;
  if (!gathered.ok())
    return gathered;
  if (Status same = compareHellos(hellos, own); !same.ok())
    return same;
  if (status = bootstrap.agree(status, hellos); !status.ok())
    return status;
  if (theElsewhere = compareMachines(hellos, own); !theElsewhere.ok())
    return theElsewhere;
  if (status = compareResources(hellos, own); !status.ok())
    return status;
  status = bootstrap.agree(attempt([&] { return mapPeers(hellos); }));
  plane.seal();
  return status;
}

/// Ranks wait for each other inside kernels, so those that share a device must
/// run at the same time.
Status Group::shareDevice(const Gathered<Hello> &hellos) {
  if (device->id().empty())
    return {};
  std::vector<unsigned> members;
  for (unsigned other = 0; other < count; ++other) {
    if (device->id() != hellos[other].deviceId)
      continue;
    if (!(hellos[other].process == hellos[own].process))
      return {scclErrorUnsupported,
              "ranks " + std::to_string(std::min(own, other)) + " and " +
                  std::to_string(std::max(own, other)) + " share device " +
                  device->id() +
                  ", and are not threads of one process; give each process a "
                  "GPU of its own"};
    members.push_back(other);
  }
  if (members.size() == 1)
    return {};
  together = std::make_unique<VirtualRanks>(plane, *device, std::move(members));
  return together->prepare();
}

Status Group::mapPeers(const Gathered<Hello> &hellos) {
  if (Status status = shareDevice(hellos); !status.ok())
    return status;
  isOneProcess = true;
  for (unsigned other = 0; other < count; ++other) {
    // Times are others in another time namespace.
    ProcessId process;
    if (Status status = ProcessId::find(hellos[other].process.pid, process);
        !status.ok())
      return status;
    processes.push_back(process);
    probeAddresses.push_back(hellos[other].probe);
    isOneProcess &= hellos[other].process == hellos[own].process;
    if (other == own)
      continue;
    if (Status status = plane.open(other, hellos[other].control); !status.ok())
      return status;
  }
  if (Status status = mapControl(); !status.ok())
    return status;
  return watchdog.start(plane, processes, config.timeoutSeconds);
}

/// Makes the abort word and the own lanes accessible to functions.
Status Group::mapControl() {
  void *page = nullptr;
  if (Status status =
          device->mapHostMemory(plane.abortPage(), plane.partBytes(), &page);
      !status.ok())
    return status;
  abortWord = static_cast<uint64_t *>(page);
  if (own != 0)
    if (Status status =
            device->mapHostMemory(plane.ownPage(), plane.partBytes(), &page);
        !status.ok())
      return status;
  if (device->isSynchronous())
    return {};
  uint64_t offset =
      reinterpret_cast<char *>(&plane.lane(own, 0)) - plane.ownPage();
  lanes = reinterpret_cast<ControlPlane::Lane *>(static_cast<char *>(page) +
                                                 offset);
  return {};
}

Status Group::takeLanes(unsigned wanted, unsigned &first) {
  first = lanesTaken;
  if (wanted > ControlPlane::numLanes - lanesTaken)
    return {scclErrorUnsupported,
            "the plans of the communicator have more than " +
                std::to_string(ControlPlane::numLanes) +
                " programs for this device"};
  lanesTaken += wanted;
  return {};
}

void Group::drain() {
  if (!device || device->isSynchronous())
    return;
  TimeLimit limit(config.timeoutSeconds + 1);
  auto isBusy = [&] {
    bool done = true;
    if (!device->poll(nullptr, done).ok())
      return false;
    for (unsigned index = 0; index < lanesTaken && done; ++index)
      done = !plane.lane(own, index).isInFlight();
    return !done;
  };
  while (isBusy() && !limit.isOver())
    Patience::pause();
}

Status Group::probeProcesses() {
  if (reaches || isOneProcess)
    return {};
  bool all = true;
  for (unsigned other = 0; other < count; ++other)
    all &= attempt([&] {
             uint64_t mark = 0;
             bool isTheirs;
             Status status =
                 device->readFrom(processes[other], probeAddresses[other],
                                  &mark, sizeof(mark), isTheirs);
             if (status.ok() && mark != probeMark + other)
               return Status(scclErrorSystem, "another process was read");
             return status;
           }).ok();
  Gathered<uint32_t> answers(count);
  if (Status gathered = bootstrap.gather(uint32_t(all), answers);
      !gathered.ok())
    return gathered;
  reaches = std::find(answers.begin(), answers.end(), 0u) == answers.end();
  return {};
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

Status Group::settle(void *stream) {
  std::optional<TimeLimit> limit;
  bool done = device->isSynchronous();
  while (!done) {
    if (Status status = device->poll(stream, done); !status.ok())
      return status;
    if (done)
      break;
    if (plane.abortWord().load(std::memory_order_relaxed) != 0) {
      if (!limit)
        limit.emplace(config.timeoutSeconds);
      if (limit->isOver())
        return {scclErrorDevice,
                "a kernel did not end after the launch was given up"};
    }
    Patience::pause();
  }
  plane.advance();
  return poison();
}

Status Group::copyAndSettle(void *to, const void *from, uint64_t bytes) {
  if (Status status = device->copy(to, from, bytes, nullptr); !status.ok())
    return status;
  Status status = settle(nullptr);
  // The memory may not be given back while something still copies.
  if (!status.ok())
    (void)settle(nullptr);
  return status;
}

bool Group::leaveTogether() {
  TimeLimit limit(config.timeoutSeconds);
  bool haveLeft = true;
  for (unsigned other = 0; other < count; ++other) {
    auto isIn = [&] {
      return other != own && plane.state(other).load() % 2 != 0 &&
             processes[other].isAlive();
    };
    while (isIn() && !limit.isOver())
      Patience::pause();
    haveLeft &= !isIn();
  }
  return haveLeft;
}
