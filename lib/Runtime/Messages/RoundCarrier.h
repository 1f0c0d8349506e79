//===- RoundCarrier.h - Who carries the messages of rounds ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_ROUNDCARRIER_H
#define SCCL_LIB_RUNTIME_MESSAGES_ROUNDCARRIER_H

#include "Runtime/Status.h"

#include "llvm/ADT/ArrayRef.h"

namespace sccl {

/// A message of a round, with memory of the GPU at this end.
struct RoundMessage {
  char *data;
  uint64_t bytes;
  unsigned peer;
  bool isSend;
};

/// Carries messages from GPU to GPU, between ranks that all do their rounds in
/// one order.
class RoundCarrier {
public:
  virtual ~RoundCarrier();

  /// Launches return before they are done, and graphs may capture them.
  virtual bool isInStream() const = 0;
  /// A launch begins, in which messages go to `peers` and come from them.
  virtual Status begin(llvm::ArrayRef<unsigned> peers, void *stream) = 0;
  /// Exchanges the messages of a round as one thing: after all that is in
  /// `stream`, and before what follows there. Those that one rank sends to
  /// another arrive in the order in which both name them.
  virtual Status exchange(llvm::ArrayRef<RoundMessage> messages,
                          void *stream) = 0;
  /// All of the launch is enqueued.
  virtual Status end(void *stream) = 0;

  /// What has gone wrong in a stream, if anything has.
  virtual Status poll() const = 0;
  /// Ends what is under way in streams. Thread-safe.
  virtual void abort() = 0;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_ROUNDCARRIER_H
