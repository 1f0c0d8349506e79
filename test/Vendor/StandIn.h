//===- StandIn.h - A communicator of the stand-in ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_VENDOR_STANDIN_H
#define SCCL_TEST_VENDOR_STANDIN_H

#include "Vendor/Interface.h"

#include <atomic>
#include <memory>
#include <string>

/// Of ranks of this process whose messages meet. Defined where they do.
struct StandInMeeting;
struct StandInMessages;

struct StandIn {
  int rank, numRanks;
  std::shared_ptr<StandInMessages> messages = nullptr;
  std::atomic<int> looks{0}; ///< until it is ready
};

/// Joins those that have the same `id`.
std::shared_ptr<StandInMessages> joinStandIns(const std::string &id, int rank);
/// What has gone wrong in a stream.
ncclResult_t errorOfMessages(const StandInMessages &messages);
/// Ends what is under way.
void abortMessages(const std::shared_ptr<StandInMessages> &messages);

/// True if SCCL_STAND_IN_FAIL is NAME:RANK: this call of that rank fails.
bool isToFail(const char *name, int rank);

#endif // SCCL_TEST_VENDOR_STANDIN_H
