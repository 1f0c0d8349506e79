//===- API.cpp - The C interface: plans and communicators -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "APISupport.h"
#include "Communicator.h"
#include "Graveyard.h"
#include "Messages/MessageCommunicator.h"
#include "Messages/UcxLibrary.h"
#include "sccl/Model/SumTree.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace sccl;

static constinit Graveyard<scclPlanImpl> destroyedPlans;
static constinit Graveyard<scclCommImpl> destroyedComms;

/// The message of the last error of this thread. A fixed size, so that keeping
/// it cannot fail.
static thread_local char lastMessage[512] = "";

scclResult sccl::reportError(scclResult code, const char *message) {
  std::strncpy(lastMessage, message, sizeof(lastMessage) - 1);
  return code;
}

scclResult scclReportError(scclResult code, const char *message) {
  return reportError(code, message ? message : "");
}

Status sccl::isNull(const char *name) {
  return invalid(std::string(name) + " is null");
}

Status sccl::checkSize(size_t size, size_t expected, const char *name) {
  if (size >= expected)
    return {};
  return invalid(std::string(name) + ".size is " + std::to_string(size) +
                 ", expected at least " + std::to_string(expected) +
                 "; set it to the size of the structure");
}

Status sccl::checkComm(scclComm comm) {
  if (!comm)
    return isNull("comm");
  return comm->isDestroyed ? invalid("comm was destroyed")
                           : comm->comm->checkProcess();
}

Status sccl::checkPlan(scclPlan plan) {
  if (!plan)
    return isNull("plan");
  return plan->isDestroyed ? invalid("the plan was destroyed") : Status();
}

scclResult scclGetVersion(int *version) {
  return guarded([&]() -> Status {
    if (!version)
      return isNull("version");
    *version = SCCL_VERSION_CODE;
    return {};
  });
}

const char *scclErrorString(scclResult result) {
  switch (result) {
  case scclSuccess:
    return "success";
  case scclErrorInvalidArgument:
    return "invalid argument";
  case scclErrorInvalidPlan:
    return "invalid plan";
  case scclErrorMismatch:
    return "ranks disagree";
  case scclErrorUnsupported:
    return "not supported";
  case scclErrorOutOfMemory:
    return "out of memory";
  case scclErrorSystem:
    return "the operating system reported an error";
  case scclErrorBusy:
    return "a launch is in flight";
  case scclErrorTimeout:
    return "a rank did not arrive in time";
  case scclErrorRankLost:
    return "the process of a rank has ended";
  case scclErrorAborted:
    return "the communicator was aborted";
  case scclErrorDevice:
    return "the device reported an error";
  case scclErrorInternal:
    return "internal error";
  }
  return "unknown result code";
}

const char *scclGetLastErrorMessage(void) { return lastMessage; }

scclResult scclPlanLoad(const char *path, scclPlan *plan) {
  return guarded([&]() -> Status {
    if (!path || !plan)
      return isNull(path ? "plan" : "path");
    std::shared_ptr<const LoadedPlan> loaded;
    if (Status status = readPlan(path, loaded); !status.ok())
      return status;
    *plan = new scclPlanImpl{.plan = std::move(loaded)};
    return {};
  });
}

scclResult scclPlanLoadMemory(const void *data, size_t bytes, scclPlan *plan) {
  return guarded([&]() -> Status {
    if (!data || !plan)
      return isNull(data ? "plan" : "data");
    if (bytes > plan::Limits::fileBytes)
      return {scclErrorInvalidPlan,
              "the plan has " + std::to_string(bytes) +
                  " bytes, the limit is " +
                  std::to_string(plan::Limits::fileBytes)};
    std::shared_ptr<const LoadedPlan> loaded;
    if (Status status = loadPlan(
            std::string(static_cast<const char *>(data), bytes), loaded);
        !status.ok())
      return status;
    *plan = new scclPlanImpl{.plan = std::move(loaded)};
    return {};
  });
}

scclResult scclPlanDestroy(scclPlan plan) {
  return guarded([&]() -> Status {
    if (!plan || plan->isDestroyed.exchange(true))
      return {};
    plan->plan.reset();
    destroyedPlans.bury(plan);
    return {};
  });
}

scclResult scclPlanGetInfo(scclPlan plan, scclPlanInfo *info) {
  return guarded([&]() -> Status {
    if (Status status = checkPlan(plan); !status.ok())
      return status;
    if (!info)
      return isNull("info");
    // Programs that were compiled before there were targets have no room.
    constexpr size_t leastBytes = offsetof(scclPlanInfo, targets);
    if (Status status = checkSize(info->size, leastBytes, "info"); !status.ok())
      return status;
    const plan::PlanView &view = plan->plan->view;
    info->collective = view.manifest.collective.c_str();
    info->ranks = view.manifest.ranks;
    info->root = view.manifest.root;
    info->combining = view.manifest.combining;
    info->numPrograms = view.manifest.programs.size();
    info->formatVersion = plan::formatVersion;
    info->hash = view.hash.c_str();
    info->topology = view.manifest.topology.c_str();
    if (info->size >= sizeof(*info))
      info->targets = plan->plan->targets.c_str();
    return {};
  });
}

/// Copies what the maker of `from`, which has a size, knew of.
template <typename T> static void copySized(const T &from, T &to) {
  std::memcpy(&to, &from, std::clamp(from.size, sizeof(from.size), sizeof(to)));
}

/// What `config` says, also of a program that was compiled before there were
/// orders; a null one says nothing.
static scclConfig readConfig(const scclConfig *config) {
  scclConfig read = SCCL_CONFIG_INITIALIZER;
  if (config)
    copySized(*config, read);
  return read;
}

static Status checkConfig(const scclConfig &config) {
  constexpr size_t leastBytes = offsetof(scclConfig, order);
  if (Status status = checkSize(config.size, leastBytes, "config");
      !status.ok())
    return status;
  if (!(config.timeoutSeconds > 0) || !std::isfinite(config.timeoutSeconds) ||
      config.timeoutSeconds > 1e8)
    return invalid("timeoutSeconds is " +
                   std::to_string(config.timeoutSeconds) +
                   ", expected more than 0 and at most 1e8");
  if (config.smBudget < 0)
    return invalid("smBudget is " + std::to_string(config.smBudget) +
                   ", expected 0 or more");
  if (config.order)
    if (auto order = SumOrder::parse(config.order); !order)
      return invalid(order.error());
  return {};
}

/// Fails if the arguments of scclCommInit make no sense.
static Status checkInit(int rank, int numRanks, const scclConfig &config,
                        const scclComm *comm) {
  if (!comm)
    return isNull("comm");
  if (rank < 0 || rank >= numRanks)
    return invalid("rank is " + std::to_string(rank) + ", expected 0 to " +
                   std::to_string(numRanks - 1));
  return checkConfig(config);
}

/// What the caller gets is made before `join` tells the others how it went
/// here, which is an error if `check` fails or there is no memory. Null if
/// `join` has made nothing.
template <typename Check, typename Join>
static Status makeComm(scclComm *comm, Check check, Join join) {
  std::unique_ptr<scclCommImpl> made;
  std::unique_ptr<Membership> member;
  Status status = attempt([&] {
    made = std::make_unique<scclCommImpl>();
    return check();
  });
  if (status = join(status, member); !status.ok())
    return status;
  if (member)
    made->comm = std::move(member);
  *comm = made->comm ? made.release() : nullptr;
  return {};
}

/// Joins through shared memory or, if there are several hosts, by messages.
static Status joinRanks(const Bootstrap &bootstrap, unsigned rank,
                        const scclConfig &config, const Status &arguments,
                        std::unique_ptr<Membership> &made) {
  Status elsewhere;
  Status status = Communicator::create(bootstrap, rank, config, arguments,
                                       nullptr, made, &elsewhere);
  if (elsewhere.ok())
    return status;
  scclTransport transport = {};
  status = makeUcxTransport(bootstrap, rank, config.timeoutSeconds, elsewhere,
                            transport);
  return status.ok()
             ? MessageCommunicator::create(transport, config, status, made)
             : status;
}

scclResult scclCommInit(int rank, int numRanks, scclAllGatherFn allGather,
                        void *context, const scclConfig *config,
                        scclComm *comm) {
  return guarded([&]() -> Status {
    if (!allGather)
      return isNull("allGather");
    if (numRanks < 1 || unsigned(numRanks) > plan::Limits::ranks)
      return invalid("numRanks is " + std::to_string(numRanks) +
                     ", expected 1 to " + std::to_string(plan::Limits::ranks));
    scclConfig chosen = readConfig(config);
    Bootstrap bootstrap(allGather, context, rank, numRanks);
    return makeComm(
        comm, [&] { return checkInit(rank, numRanks, chosen, comm); },
        [&](const Status &arguments, std::unique_ptr<Membership> &made) {
          return joinRanks(bootstrap, rank, chosen, arguments, made);
        });
  });
}

/// Those of libraries before transports said which devices they take.
static constexpr size_t leastTransportBytes = offsetof(scclTransport, devices);

/// Fails if `transport` cannot be used at all.
static Status checkTransport(const scclTransport *transport) {
  if (!transport)
    return isNull("transport");
  if (Status status =
          checkSize(transport->size, leastTransportBytes, "transport");
      !status.ok())
    return status;
  if (!transport->allGather || !transport->reserve || !transport->send ||
      !transport->sendAsking || !transport->receive || !transport->poll ||
      !transport->close || !transport->errorText)
    return invalid("a function of the transport is null");
  if (transport->numRanks < 1 ||
      unsigned(transport->numRanks) > plan::Limits::ranks ||
      transport->rank < 0 || transport->rank >= transport->numRanks)
    return invalid("the transport has rank " + std::to_string(transport->rank) +
                   " of " + std::to_string(transport->numRanks) +
                   ", expected at most " + std::to_string(plan::Limits::ranks) +
                   " ranks");
  return {};
}

scclResult scclCommInitTransport(const scclTransport *transport,
                                 const scclConfig *config, scclComm *comm) {
  return guarded([&]() -> Status {
    if (Status status = checkTransport(transport); !status.ok()) {
      if (transport && transport->size >= leastTransportBytes &&
          transport->close)
        transport->close(transport->context, /*failed=*/0);
      return status;
    }
    scclTransport known = {};
    copySized(*transport, known);
    scclConfig chosen = readConfig(config);
    auto check = [&]() -> Status {
      return comm ? checkConfig(chosen) : isNull("comm");
    };
    return makeComm(
        comm, check,
        [&](const Status &arguments, std::unique_ptr<Membership> &made) {
          return MessageCommunicator::create(known, chosen, arguments, made);
        });
  });
}

scclResult scclCommDestroy(scclComm comm) {
  return guarded([&]() -> Status {
    if (!comm || comm->isDestroyed.exchange(true))
      return {};
    bool isInherited = comm->comm->isInherited();
    Status status = isInherited ? Status() : comm->comm->checkGaps();
    if (isInherited) {
      comm->comm->unmap();
      // Destructors would wait for threads, and call drivers of GPUs.
      (void)comm->comm.release();
    }
    comm->comm.reset();
    destroyedComms.bury(comm);
    return status;
  });
}

scclResult scclCommAbort(scclComm comm) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    ranks.abort();
    return {};
  });
}

scclResult scclCommSetInterrupt(scclComm comm, int (*interrupt)(void *),
                                void *context) {
  return withComm(comm, [&](Membership &) -> Status {
    comm->interrupt = interrupt;
    comm->interruptContext = context;
    comm->asker = std::this_thread::get_id();
    return {};
  });
}

scclResult scclCommGetError(scclComm comm) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    ranks.refresh();
    return ranks.poison();
  });
}

scclResult scclCommSplit(scclComm comm, int color, int key,
                         const scclConfig *config, scclComm *result) {
  return withCommInterruptibly(comm, [&](Membership &ranks) -> Status {
    const scclConfig &mine = ranks.config();
    scclConfig chosen = config ? readConfig(config) : mine;
    chosen.device = mine.device;
    chosen.deviceIndex = mine.deviceIndex;
    // What one has promised, its parts promise, unless they are asked for more.
    if (!chosen.order)
      chosen.order = mine.order;
    chosen.oneRounding |= mine.oneRounding;
    return makeComm(
        result,
        [&]() -> Status {
          if (!result)
            return isNull("result");
          return config ? checkConfig(chosen) : Status();
        },
        [&](const Status &arguments, std::unique_ptr<Membership> &made) {
          return ranks.split(color, key, chosen, arguments, made);
        });
  });
}

scclResult scclCommLoad(scclComm comm, scclPlan plan) {
  return withCommInterruptibly(comm, [&](Membership &ranks) -> Status {
    return ranks.load(plan ? plan->plan : nullptr);
  });
}

scclResult scclCommRank(scclComm comm, int *rank) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (!rank)
      return isNull("rank");
    *rank = ranks.rank();
    return {};
  });
}

scclResult scclCommCount(scclComm comm, int *numRanks) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (!numRanks)
      return isNull("numRanks");
    *numRanks = ranks.numRanks();
    return {};
  });
}
