//===- Parts.cpp - Communicators of some of the ranks of another one ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"
#include "RealLibrary.h"

#include <algorithm>

using namespace sccl::vendor;

namespace {
/// What a rank says when a communicator is split.
struct Part {
  int color, key;
  ncclResult_t code; ///< why this rank cannot take part
  Address address;   ///< of the part, if this rank is its first
};
} // namespace

/// The ranks with the colour of `rank`, in the order of the part.
static std::vector<int> ranksOfPart(const std::vector<Part> &parts, int rank) {
  std::vector<int> ranks;
  for (int other = 0; other < int(parts.size()); ++other)
    if (parts[other].color == parts[rank].color)
      ranks.push_back(other);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](int a, int b) { return parts[a].key < parts[b].key; });
  return ranks;
}

/// What `member` says, to all ranks; fails if one cannot take part.
static ncclResult_t exchangeParts(Member &member, const Part &mine,
                                  std::vector<Part> &parts) {
  parts.resize(member.numRanks);
  if (!member.meeting->gather(&mine, parts.data(), sizeof mine))
    return failWith(ncclRemoteError, "a rank has gone");
  if (mine.code)
    return mine.code;
  for (size_t rank = 0; rank < parts.size(); ++rank)
    if (parts[rank].code) {
      std::string message = "rank " + std::to_string(rank) + " cannot split";
      return failWith(ncclRemoteError, message.c_str());
    }
  return ncclSuccess;
}

/// A communicator that is the vendor's alone, made of `origin`; it owns `real`.
static ncclResult_t wrap(ncclComm_t real, const Member &origin,
                         ncclComm_t *result) {
  auto member = std::make_unique<Member>();
  member->real.reset(real);
  member->device = origin.device;
  member->order = origin.order;
  member->oneRounding = origin.oneRounding;
  ncclResult_t code = callReal("ncclCommCount", real, &member->numRanks);
  if (code == ncclSuccess)
    code = callReal("ncclCommUserRank", real, &member->rank);
  if (code != ncclSuccess)
    return code;
  *result = member.release();
  return ncclSuccess;
}

static ncclResult_t split(ncclComm_t comm, int color, int key,
                          ncclComm_t *result, Configuration config) {
  Member &member = *memberOf(comm);
  ncclComm_t made = nullptr;
  Part mine = {color, key, ncclSuccess, {}};
  if (member.real) {
    mine.code = callReal("ncclCommSplit", member.real.get(), color, key, &made,
                         config.get());
    mine.code = settleReal(made ? made : member.real.get(), mine.code);
  }
  RealComm real(made);
  if (!member.meeting)
    return mine.code || !real ? mine.code
                              : wrap(real.release(), member, result);
  std::vector<Part> parts;
  if (ncclResult_t code = exchangeParts(member, mine, parts))
    return code;
  std::vector<int> ranks = ranksOfPart(parts, member.rank);
  if (color >= 0 && ranks[0] == member.rank)
    if (std::string problem = listenForRanks(mine.address); !problem.empty())
      mine.code = failWith(ncclSystemError, problem.c_str());
  if (ncclResult_t code = exchangeParts(member, mine, parts))
    return code;
  if (color < 0)
    return ncclSuccess;
  Joining joining;
  joining.address = parts[ranks[0]].address;
  joining.rank =
      std::find(ranks.begin(), ranks.end(), member.rank) - ranks.begin();
  joining.numRanks = ranks.size();
  joining.device = member.device;
  joining.real = real.release();
  joining.makesReal = false;
  return joinRanks(joining, *result);
}

SCCL_VENDOR_API ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                                           ncclComm_t *result,
                                           ncclConfig_t *config) {
  if (!memberOf(comm) || !result)
    return failWith(ncclInvalidArgument,
                    result ? noMember : "the result is null");
  *result = nullptr;
  Configuration own;
  if (ncclResult_t code = own.take(config))
    return code;
  return runOrDefer([=] { return split(comm, color, key, result, own); },
                    memberOf(comm));
}

/// The ranks that are excluded do not call, and may be gone: those that are
/// left cannot meet, so the vendor's library has what they make to itself.
static ncclResult_t shrink(ncclComm_t comm, std::vector<int> excluded,
                           ncclComm_t *result, Configuration config,
                           int flags) {
  Member &member = *memberOf(comm);
  constexpr int shrinkAbort = 1;
  if (flags & shrinkAbort)
    member.abortOurs();
  ncclComm_t made = nullptr;
  ncclResult_t code =
      callReal("ncclCommShrink", member.real.get(), excluded.data(),
               int(excluded.size()), &made, config.get(), flags);
  code = settleReal(made ? made : member.real.get(), code);
  RealComm real(made);
  return code ? code : wrap(real.release(), member, result);
}

SCCL_VENDOR_API ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded,
                                            int numExcluded, ncclComm_t *result,
                                            ncclConfig_t *config, int flags) {
  if (!memberOf(comm) || !result || numExcluded < 0 ||
      (numExcluded > 0 && !excluded))
    return failWith(ncclInvalidArgument, "comm is null or destroyed, or the "
                                         "result or the list of ranks is null");
  *result = nullptr;
  if (!realOf(comm))
    return failWith(ncclInvalidUsage,
                    "libsccl-nccl shrinks no communicators without a library "
                    "of the vendor; ncclCommSplit makes parts of them");
  Configuration own;
  if (ncclResult_t code = own.take(config))
    return code;
  std::vector<int> ranks(excluded, excluded + numExcluded);
  return runOrDefer([=] { return shrink(comm, ranks, result, own, flags); },
                    memberOf(comm));
}
