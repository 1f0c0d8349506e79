//===- nccl.h - The part of NCCL's interface that sends and receives ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the compiler of a test, in memory of the host, with ranks that are
// threads. A group sends all that it has to send, then receives. What does not
// come within 20 s, or has another length, is an error.
//
//===----------------------------------------------------------------------===//

#ifndef NCCL_H
#define NCCL_H

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

enum StandInResult {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
};
enum StandInType {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};
enum StandInReduction { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg };
using ncclResult_t = StandInResult;
using ncclDataType_t = StandInType;
using ncclRedOp_t = StandInReduction;

struct StandInWorld {
  explicit StandInWorld(int size) : size(size) {}
  const int size;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::string>> links;
};
struct StandInRank {
  StandInWorld *world;
  int rank;
};
using ncclComm_t = StandInRank *;
using Postponed = std::vector<std::function<ncclResult_t()>>;
inline thread_local Postponed sends, receives;

inline ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
inline ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
  *count = comm->world->size;
  return ncclSuccess;
}
inline ncclResult_t ncclGroupStart() { return ncclSuccess; }
inline ncclResult_t ncclGroupEnd() {
  ncclResult_t result = ncclSuccess;
  for (Postponed *calls : {&sends, &receives}) {
    for (auto &call : *calls)
      if (ncclResult_t code = call())
        result = code;
    calls->clear();
  }
  return result;
}
inline ncclResult_t ncclSend(const void *from, size_t bytes, ncclDataType_t,
                             int peer, ncclComm_t comm, void *) {
  sends.push_back([=] {
    std::lock_guard<std::mutex> lock(comm->world->mutex);
    comm->world->links[{comm->rank, peer}].emplace_back(
        static_cast<const char *>(from), bytes);
    comm->world->changed.notify_all();
    return ncclSuccess;
  });
  return ncclSuccess;
}
inline ncclResult_t ncclRecv(void *to, size_t bytes, ncclDataType_t, int peer,
                             ncclComm_t comm, void *) {
  receives.push_back([=] {
    StandInWorld &world = *comm->world;
    std::unique_lock<std::mutex> lock(world.mutex);
    auto &link = world.links[{peer, comm->rank}];
    if (!world.changed.wait_for(lock, std::chrono::seconds(20),
                                [&] { return !link.empty(); }))
      return ncclSystemError;
    std::string message = std::move(link.front());
    link.pop_front();
    if (message.size() != bytes)
      return ncclInternalError;
    std::memcpy(to, message.data(), bytes);
    return ncclSuccess;
  });
  return ncclSuccess;
}

#endif // NCCL_H
