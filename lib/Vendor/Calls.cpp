//===- Calls.cpp - Collectives, at once or at the end of a group ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "RealLibrary.h"

#include "sccl/Model/ElementType.h"
#include "sccl/Model/Threads.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

using namespace sccl;
using namespace sccl::vendor;

namespace {
/// Works, each with the member that it uses; null if that is yet to be made.
using PutOff = std::vector<std::pair<Member *, Work>>;

/// What this thread has put off to the end of its group.
struct Group {
  unsigned depth = 0;
  PutOff calls, works;
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

/// False if the result of the call is the same in any order of summation, or,
/// if asked `ofSmallFloats`, with any number of roundings. Types and reductions
/// that are unknown here may be of floats.
static bool dependsOnOrder(const Call &call, std::optional<scclRedOp> op,
                           bool ofSmallFloats) {
  if (call.kind != Kind::AllReduce && call.kind != Kind::ReduceScatter &&
      call.kind != Kind::Reduce)
    return false;
  auto types = elementTypes();
  auto type =
      std::ranges::find(types, unsigned(call.type), &ElementType::number);
  bool isExact = type != types.end() &&
                 !(ofSmallFloats ? type->combinesAsF32() : type->isFloat());
  return !isExact && op != scclMin && op != scclMax;
}

/// Fails if the vendor's library, which promises no order of summation and no
/// number of roundings, would have to execute a call that has to keep them.
static ncclResult_t keepOrder(const Call &call, std::optional<scclRedOp> op) {
  const Member &member = *call.member;
  bool asksForOrder = !member.order.empty() &&
                      dependsOnOrder(call, op, /*ofSmallFloats=*/false);
  bool asksForRounding =
      member.oneRounding && dependsOnOrder(call, op, /*ofSmallFloats=*/true);
  if (member.numRanks == 1 || (!asksForOrder && !asksForRounding))
    return ncclSuccess;
  std::string words =
      std::string("no plan of SCCL_PLAN_PATH has this ") + nameOf(call.kind);
  if (asksForOrder)
    words +=
        " in the order " + member.order +
        ", which SCCL_ORDER asks for, and the vendor's library keeps none; "
        "compile one with --order=" +
        member.order;
  else
    words += " with one rounding, which SCCL_ONE_ROUNDING asks for, and the "
             "vendor's library promises none; compile one with --one-rounding";
  return failWith(ncclInvalidUsage, words.c_str());
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

ncclResult_t sccl::vendor::execute(const Call &call, const Work &forward) {
  if (!call.member)
    return failWith(ncclInvalidArgument, noMember);
  std::optional<scclRedOp> op = reductionOf(call.op);
  scclResult found = op ? findPlan(call, *op) : scclErrorUnsupported;
  if (found != scclSuccess) {
    ncclResult_t refused =
        call.member->real ? keepOrder(call, op) : refuse(call, op, found);
    return refused ? refused : forward();
  }
  if (group.depth > 0) {
    group.calls.emplace_back(
        call.member, [=, op = *op] { return asVendor(launch(call, op)); });
    return ncclSuccess;
  }
  return asVendor(launch(call, *op));
}

ncclResult_t sccl::vendor::runOrDefer(Work work, Member *member) {
  if (group.depth == 0)
    return work();
  group.works.emplace_back(member, std::move(work));
  return ncclSuccess;
}

ncclResult_t sccl::vendor::checkNothingWaits(const Member *member) {
  auto uses = [&](const auto &entry) { return entry.first == member; };
  if (member && (std::any_of(group.calls.begin(), group.calls.end(), uses) ||
                 std::any_of(group.works.begin(), group.works.end(), uses)))
    return failWith(ncclInvalidUsage,
                    "calls of the communicator wait for ncclGroupEnd");
  return ncclSuccess;
}

ncclResult_t sccl::vendor::startGroup() {
  ++group.depth;
  return hasRealLibrary() ? callReal("ncclGroupStart") : ncclSuccess;
}

ncclResult_t sccl::vendor::runTogether(std::vector<Work> works) {
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

/// Runs them one after the other, up to the first that fails or, if it
/// `goesOn`, all. Returns how the first has failed.
static ncclResult_t runInOrder(const std::vector<Work> &works, bool goesOn) {
  ncclResult_t first = ncclSuccess;
  std::string message;
  for (const Work &work : works) {
    ncclResult_t code = work();
    if (code == ncclSuccess || first != ncclSuccess)
      continue;
    if (!goesOn)
      return code;
    first = code;
    message = lastMessage();
  }
  return first ? failWith(first, message.c_str()) : ncclSuccess;
}

/// The works of each member as one, in their order, because they use one
/// connection to the other ranks; the members in that of their first works.
static std::vector<Work> byMember(PutOff works, bool goesOn) {
  std::map<Member *, size_t> numberOf;
  std::vector<std::vector<Work>> parts;
  for (auto &[member, work] : works) {
    size_t number = parts.size();
    if (member)
      number = numberOf.try_emplace(member, number).first->second;
    if (number == parts.size())
      parts.emplace_back();
    parts[number].push_back(std::move(work));
  }
  std::vector<Work> chains;
  for (std::vector<Work> &part : parts)
    chains.push_back(
        [part = std::move(part), goesOn] { return runInOrder(part, goesOn); });
  return chains;
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
  // Ranks that have failed to make one part take part in making the next, with
  // those that have not. Of calls there is no next one for the others.
  if (code == ncclSuccess)
    code = runTogether(byMember(std::move(works), /*goesOn=*/true));
  if (code == ncclSuccess)
    code = runTogether(byMember(std::move(calls), /*goesOn=*/false));
  return code == ncclSuccess && isUnderWay ? ncclInProgress : code;
}
