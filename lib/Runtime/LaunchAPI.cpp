//===- LaunchAPI.cpp - The C interface: launches and queries --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "APISupport.h"

using namespace sccl;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The plan as `comm` has loaded it.
static Status findPlan(scclComm comm, scclPlan plan, JoinedPlan *&loaded) {
  if (Status status = checkComm(comm); !status.ok())
    return status;
  if (Status status = checkPlan(plan); !status.ok())
    return status;
  loaded = comm->comm->find(*plan->plan);
  return loaded ? Status() : invalid("the plan was not loaded by scclCommLoad");
}

/// The same for a launch: where there is none, it has failed.
static Status findPlanToLaunch(scclComm comm, scclPlan plan,
                               JoinedPlan *&loaded) {
  Status status = findPlan(comm, plan, loaded);
  if (!status.ok() && comm && checkComm(comm).ok())
    comm->comm->countFailure(status);
  return status;
}

static Status launch(scclComm comm, JoinedPlan &plan,
                     const LaunchRequest &request) {
  return interruptibly(comm, [&] { return comm->comm->launch(plan, request); });
}

scclResult scclLaunch(scclComm comm, scclPlan plan, const void *send,
                      void *recv, size_t count, scclDataType type, scclRedOp op,
                      void *stream) {
  return guarded([&]() -> Status {
    JoinedPlan *loaded = nullptr;
    if (Status status = findPlanToLaunch(comm, plan, loaded); !status.ok())
      return status;
    return launch(comm, *loaded, {send, recv, count, type, op, stream});
  });
}

scclResult scclLaunchAsync(scclComm comm, scclPlan plan, const void *send,
                           void *recv, size_t count, scclDataType type,
                           scclRedOp op, uint64_t *ticket) {
  return guarded([&]() -> Status {
    JoinedPlan *loaded = nullptr;
    if (Status status = findPlanToLaunch(comm, plan, loaded); !status.ok())
      return status;
    if (!ticket) {
      Status status = isNull("ticket");
      comm->comm->countFailure(status);
      return status;
    }
    return comm->comm->launchLater(
        *loaded, {send, recv, count, type, op, nullptr}, *ticket);
  });
}

scclResult scclWait(scclComm comm, uint64_t ticket) {
  return withCommInterruptibly(
      comm, [&](Membership &ranks) { return ranks.await(ticket); });
}

scclResult scclCommRefuse(scclComm comm, const char *why) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    ranks.countFailure(invalid(why ? why : "no reason was given"));
    return {};
  });
}

/// A launch of the plan that there is for a named collective.
static scclResult launchNamed(const CollectiveCall &call, scclComm comm,
                              const LaunchRequest &request) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    size_t plan = 0;
    if (Status status = ranks.choose(call, request, std::nullopt, plan);
        !status.ok()) {
      ranks.countFailure(status);
      return status;
    }
    return launch(comm, ranks.plan(plan), request);
  });
}

scclResult scclAllReduce(const void *send, void *recv, size_t count,
                         scclDataType type, scclRedOp op, scclComm comm,
                         void *stream) {
  return launchNamed({"all_reduce", std::nullopt}, comm,
                     {send, recv, count, type, op, stream});
}

scclResult scclReduceScatter(const void *send, void *recv, size_t count,
                             scclDataType type, scclRedOp op, scclComm comm,
                             void *stream) {
  return launchNamed({"reduce_scatter", std::nullopt}, comm,
                     {send, recv, count, type, op, stream});
}

scclResult scclAllGather(const void *send, void *recv, size_t count,
                         scclDataType type, scclComm comm, void *stream) {
  return launchNamed({"all_gather", std::nullopt}, comm,
                     {send, recv, count, type, scclSum, stream});
}

scclResult scclAllToAll(const void *send, void *recv, size_t count,
                        scclDataType type, scclComm comm, void *stream) {
  return launchNamed({"all_to_all", std::nullopt}, comm,
                     {send, recv, count, type, scclSum, stream});
}

scclResult scclBroadcast(const void *send, void *recv, size_t count,
                         scclDataType type, int root, scclComm comm,
                         void *stream) {
  return launchNamed({"broadcast", root}, comm,
                     {send, recv, count, type, scclSum, stream});
}

scclResult scclReduce(const void *send, void *recv, size_t count,
                      scclDataType type, scclRedOp op, int root, scclComm comm,
                      void *stream) {
  return launchNamed({"reduce", root}, comm,
                     {send, recv, count, type, op, stream});
}

scclResult scclGather(const void *send, void *recv, size_t count,
                      scclDataType type, int root, scclComm comm,
                      void *stream) {
  return launchNamed({"gather", root}, comm,
                     {send, recv, count, type, scclSum, stream});
}

scclResult scclScatter(const void *send, void *recv, size_t count,
                       scclDataType type, int root, scclComm comm,
                       void *stream) {
  return launchNamed({"scatter", root}, comm,
                     {send, recv, count, type, scclSum, stream});
}

//===----------------------------------------------------------------------===//
// Memory and queries
//===----------------------------------------------------------------------===//

scclResult scclMemAlloc(scclComm comm, size_t bytes, void **memory) {
  return withCommInterruptibly(comm, [&](Membership &ranks) -> Status {
    return ranks.allocate(bytes, memory);
  });
}

scclResult scclMemFree(scclComm comm, void *memory) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    return memory ? ranks.free(memory) : Status();
  });
}

scclResult scclMemCopy(scclComm comm, void *to, const void *from,
                       size_t bytes) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (bytes != 0 && (!to || !from))
      return isNull(to ? "from" : "to");
    return ranks.copy(to, from, bytes);
  });
}

scclResult scclQueryScratch(scclComm comm, size_t *bytes) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (!bytes)
      return isNull("bytes");
    *bytes = ranks.ownBytes();
    return {};
  });
}

scclResult scclQueryTarget(scclComm comm, const char **target) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (!target)
      return isNull("target");
    *target = ranks.device().target().c_str();
    return {};
  });
}

static bool hasRoot(llvm::StringRef collective) {
  return collective == "broadcast" || collective == "reduce" ||
         collective == "gather" || collective == "scatter";
}

scclResult scclQueryPlan(scclComm comm, const char *collective, int root,
                         int inPlace, size_t count, scclDataType type,
                         scclRedOp op, int *plan) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (!collective || !plan)
      return isNull(collective ? "plan" : "collective");
    CollectiveCall call = {collective, std::nullopt};
    if (root >= 0 || hasRoot(collective))
      call.root = root;
    size_t number = 0;
    if (Status status =
            ranks.choose(call, {nullptr, nullptr, count, type, op, nullptr},
                         inPlace != 0, number);
        !status.ok())
      return status;
    *plan = int(number);
    return {};
  });
}

scclResult scclQueryChoice(scclComm comm, scclPlan plan, size_t count,
                           scclDataType type, scclRedOp op,
                           scclChoice *choice) {
  return guarded([&]() -> Status {
    JoinedPlan *loaded = nullptr;
    if (Status status = findPlan(comm, plan, loaded); !status.ok())
      return status;
    if (!choice)
      return isNull("choice");
    if (Status status = checkSize(choice->size, sizeof(*choice), "choice");
        !status.ok())
      return status;
    return loaded->queryChoice(count, type, op, *choice);
  });
}

scclResult scclCommSetChoice(scclComm comm, scclPlan plan,
                             const scclChoice *choice) {
  return guarded([&]() -> Status {
    JoinedPlan *loaded = nullptr;
    if (Status status = findPlan(comm, plan, loaded); !status.ok())
      return status;
    if (choice)
      if (Status status = checkSize(choice->size, sizeof(*choice), "choice");
          !status.ok())
        return status;
    return loaded->setChoice(choice);
  });
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

scclResult scclCommTrace(scclComm comm, int on) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    return ranks.recordTrace(on != 0);
  });
}

scclResult scclQueryTrace(scclComm comm, const scclTraceEvent **events,
                          size_t *count) {
  return withComm(comm, [&](Membership &ranks) -> Status {
    if (!events || !count)
      return isNull(events ? "count" : "events");
    return ranks.readTrace(*events, *count);
  });
}
