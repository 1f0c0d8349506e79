//===- Calls.cpp - Collectives, at once or at the end of a group ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "RealLibrary.h"

#include "sccl/Model/Threads.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

using namespace sccl;
using namespace sccl::vendor;

namespace {
/// What this thread has put off to the end of its group.
struct Group {
  unsigned depth = 0;
  std::vector<std::pair<scclRedOp, Call>> calls;
  std::vector<std::function<ncclResult_t()>> works;
};
} // namespace
static thread_local Group group;

static const char *nameOf(Kind kind) {
  static const char *const names[] = {
      "all_reduce", "reduce_scatter", "all_gather", "all_to_all",
      "broadcast",  "reduce",         "gather",     "scatter"};
  return names[int(kind)];
}

/// libsccl has the reductions in another order. None for those of programs.
static std::optional<scclRedOp> reductionOf(ncclRedOp_t op) {
  switch (op) {
  case ncclSum:
    return scclSum;
  case ncclProd:
    return scclProd;
  case ncclMax:
    return scclMax;
  case ncclMin:
    return scclMin;
  case ncclAvg:
    return scclAvg;
  }
  return std::nullopt;
}

/// Success if a plan serves the call, and scclErrorUnsupported if none does;
/// all ranks find the same. Anything else is wrong with the call.
static scclResult findPlan(const Call &call, scclRedOp op) {
  int plan;
  return call.member->ours
             ? scclQueryPlan(call.member->ours, nameOf(call.kind), call.root,
                             /*inPlace=*/0, call.count, scclDataType(call.type),
                             op, &plan)
             : scclErrorUnsupported;
}

/// Fails if the call is wrong in itself, where there is no library of the
/// vendor that would find out.
static ncclResult_t refuse(const Call &call, std::optional<scclRedOp> op,
                           scclResult why) {
  // No reduction is defined without that library.
  if (!op)
    return failWith(
        ncclInvalidArgument,
        ("the reduction is " + std::to_string(int(call.op))).c_str());
  if (why != scclErrorUnsupported)
    return asVendor(why);
  // Nothing can be done in a child of a fork; this tells as much.
  int rank;
  return asVendor(scclCommRank(call.member->ours, &rank));
}

static scclResult launchOnce(const Call &c, scclRedOp op) {
  auto type = scclDataType(c.type);
  scclComm comm = c.member->ours;
  switch (c.kind) {
  case Kind::AllReduce:
    return scclAllReduce(c.send, c.recv, c.count, type, op, comm, c.stream);
  case Kind::ReduceScatter:
    return scclReduceScatter(c.send, c.recv, c.count, type, op, comm, c.stream);
  case Kind::AllGather:
    return scclAllGather(c.send, c.recv, c.count, type, comm, c.stream);
  case Kind::AllToAll:
    return scclAllToAll(c.send, c.recv, c.count, type, comm, c.stream);
  case Kind::Broadcast:
    return scclBroadcast(c.send, c.recv, c.count, type, c.root, comm, c.stream);
  case Kind::Reduce:
    return scclReduce(c.send, c.recv, c.count, type, op, c.root, comm,
                      c.stream);
  case Kind::Gather:
    return scclGather(c.send, c.recv, c.count, type, c.root, comm, c.stream);
  case Kind::Scatter:
    return scclScatter(c.send, c.recv, c.count, type, c.root, comm, c.stream);
  }
  return scclErrorInternal;
}

static scclResult launch(const Call &call, scclRedOp op) {
  ++call.member->calls;
  scclResult code = launchOnce(call, op);
  --call.member->calls;
  return code;
}

ncclResult_t
sccl::vendor::execute(const Call &call,
                      const std::function<ncclResult_t()> &forward) {
  if (!call.member)
    return failWith(ncclInvalidArgument, "the communicator is null");
  std::optional<scclRedOp> op = reductionOf(call.op);
  scclResult found = op ? findPlan(call, *op) : scclErrorUnsupported;
  if (found != scclSuccess) {
    ncclResult_t refused =
        call.member->real ? ncclSuccess : refuse(call, op, found);
    return refused ? refused : forward();
  }
  if (group.depth > 0) {
    group.calls.emplace_back(*op, call);
    return ncclSuccess;
  }
  return asVendor(launch(call, *op));
}

ncclResult_t sccl::vendor::runOrDefer(std::function<ncclResult_t()> work) {
  if (group.depth == 0)
    return work();
  group.works.push_back(std::move(work));
  return ncclSuccess;
}

ncclResult_t sccl::vendor::startGroup() {
  ++group.depth;
  return hasRealLibrary() ? callReal("ncclGroupStart") : ncclSuccess;
}

ncclResult_t
sccl::vendor::runTogether(std::vector<std::function<ncclResult_t()>> works) {
  struct End {
    ncclResult_t code = ncclSuccess;
    std::string message;
  };
  std::deque<End> ends(works.size());
  std::deque<Thread> threads(works.size());
  auto run = [&](size_t number) {
    ends[number].code = works[number]();
    ends[number].message = lastMessage();
  };
  // They wait for each other: with a thread too few none can end.
  if (works.size() > 1 && !canStartThreads(works.size() - 1))
    return failWith(ncclSystemError, "no threads for the ranks of this group");
  for (size_t number = 1; number < works.size(); ++number)
    if (!threads[number].start([&run, number] { run(number); }))
      return failWith(ncclSystemError, "no thread for a rank of this group");
  if (!works.empty())
    run(0);
  for (Thread &thread : threads)
    thread.join();
  for (End &end : ends)
    if (end.code != ncclSuccess)
      return failWith(end.code, end.message.c_str());
  return ncclSuccess;
}

/// The calls of each communicator in their order, the communicators in that of
/// their first calls.
static std::vector<std::function<ncclResult_t()>>
byMember(std::vector<std::pair<scclRedOp, Call>> calls) {
  std::map<Member *, size_t> numberOf;
  std::vector<std::vector<std::pair<scclRedOp, Call>>> parts;
  for (auto &entry : calls) {
    auto [found, isNew] =
        numberOf.try_emplace(entry.second.member, parts.size());
    if (isNew)
      parts.emplace_back();
    parts[found->second].push_back(entry);
  }
  std::vector<std::function<ncclResult_t()>> works;
  for (auto &part : parts)
    works.push_back([part = std::move(part)] {
      for (const auto &[op, call] : part)
        if (scclResult code = launch(call, op))
          return asVendor(code);
      return ncclSuccess;
    });
  return works;
}

ncclResult_t sccl::vendor::endGroup() {
  if (group.depth == 0)
    return failWith(ncclInvalidUsage, "no group is open");
  ncclResult_t code = hasRealLibrary() ? callReal("ncclGroupEnd") : ncclSuccess;
  if (--group.depth > 0)
    return code;
  auto works = std::move(group.works);
  auto calls = std::move(group.calls);
  group.works.clear();
  group.calls.clear();
  // What the vendor's communicators go on with, ours need not wait for.
  bool isUnderWay = code == ncclInProgress;
  if (isUnderWay)
    code = ncclSuccess;
  if (code == ncclSuccess)
    code = runTogether(std::move(works));
  if (code == ncclSuccess)
    code = runTogether(byMember(std::move(calls)));
  return code == ncclSuccess && isUnderWay ? ncclInProgress : code;
}
