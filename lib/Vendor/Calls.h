//===- Calls.h - Collectives, at once or at the end of a group -*- C++ -* -===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_VENDOR_CALLS_H
#define SCCL_LIB_VENDOR_CALLS_H

#include "Member.h"

#include <functional>

namespace sccl::vendor {

enum class Kind {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Reduce,
  Gather,
  Scatter,
};

struct Call {
  Kind kind;
  Member *member;
  const void *send;
  void *recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = ncclSum;
  int root = -1;
  ncclStream_t stream = nullptr;
};

using Work = std::function<ncclResult_t()>;

/// Executes the call by a plan, at the end of the group if one is open, or has
/// `forward` pass it to the vendor's library.
ncclResult_t execute(const Call &call, const Work &forward);
/// Runs `work` now, or at the end of the group. There those of one member run
/// in their order, and all others in threads of their own.
ncclResult_t runOrDefer(Work work, Member *member = nullptr);

/// Fails if this thread's group has put off what uses `member`, which must stay
/// until then.
ncclResult_t checkNothingWaits(const Member *member);

ncclResult_t startGroup();
ncclResult_t endGroup();

/// Runs all of them at once, and returns how the first has failed.
ncclResult_t runTogether(std::vector<Work> works);

} // namespace sccl::vendor

#endif // SCCL_LIB_VENDOR_CALLS_H
