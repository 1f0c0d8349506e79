//===- StreamWatch.h - Giving up what does not end in a stream --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_STREAMWATCH_H
#define SCCL_LIB_RUNTIME_MESSAGES_STREAMWATCH_H

#include "MessageGroup.h"
#include "NearRanks.h"

#include "Runtime/TimeLimit.h"

#include <deque>

namespace sccl {

/// Finds out whether a launch takes too long, and which rank is to blame.
/// Nothing waits: whoever asks for errors has it look. Time passes while a
/// launch has begun in its stream, of which graphs have no part.
class StreamWatch {
public:
  /// `near` may be null.
  StreamWatch(MessageGroup &group, Device &device, const NearRanks *near)
      : group(group), device(device), near(near),
        limit(group.config.timeoutSeconds) {}

  /// Around what the current call of the group enqueues.
  Status begin(void *stream);
  Status end(void *stream);
  /// Gives up for all ranks if a launch is past its limit.
  Status look();

private:
  struct Launch {
    std::unique_ptr<StreamEvent> begin, end;
    uint64_t call = 0;
  };
  Status makeRoom(bool &hasRoom);
  Status dropEnded();
  bool hasCalled(unsigned peer, uint64_t call) const;
  unsigned findLate(uint64_t call, bool &isKnown) const;
  void askAround(uint64_t call, unsigned late);
  Status giveUp(unsigned late, bool isKnown);

  MessageGroup &group;
  Device &device;
  const NearRanks *const near;
  std::deque<Launch> launches; ///< that may be under way, the first one first
  std::vector<Launch> spare;
  bool isOpen = false; ///< `begin` was called for the last one, and not `end`
  TimeLimit limit;
  double nextQuestion = 0; ///< as a share of the limit
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_STREAMWATCH_H
