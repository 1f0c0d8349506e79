//===- DirectCarrier.h - Messages of rounds by a transport ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a transport takes memory of the GPU, as MPI that is aware of CUDA, its
// messages go there and come from there. It knows no streams: the host waits
// for what is enqueued, exchanges the messages of a round, and enqueues what
// follows.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_DIRECTCARRIER_H
#define SCCL_LIB_RUNTIME_MESSAGES_DIRECTCARRIER_H

#include "MessageEngine.h"

namespace sccl {

class DirectCarrier : public RoundCarrier {
public:
  DirectCarrier(MessageEngine &engine, Device &device)
      : engine(engine), device(device) {}

  bool isInStream() const override { return false; }
  /// Waits for what the caller has enqueued, however long that takes.
  Status begin(llvm::ArrayRef<unsigned> peers, void *stream) override {
    return within(
        stream, [&](auto isDone) { return engine.beginRounds(peers, isDone); });
  }
  Status exchange(llvm::ArrayRef<RoundMessage> messages,
                  void *stream) override {
    return within(
        stream, [&](auto isDone) { return engine.runRound(messages, isDone); });
  }
  Status end(void *stream) override {
    return within(stream,
                  [&](auto isDone) { return engine.endRounds(isDone); });
  }
  Status poll() const override { return {}; }
  void abort() override {}

private:
  /// Has the device as the current one, by which transports know its memory.
  template <typename Call> Status within(void *stream, Call call) {
    return device.withStream(stream, [&](void *) {
      return call([&](bool &done) { return device.poll(stream, done); });
    });
  }

  MessageEngine &engine;
  Device &device;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_DIRECTCARRIER_H
