//===- MessagePlan.h - A plan of ranks that exchange messages ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPLAN_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPLAN_H

#include "MessageEngine.h"
#include "StreamPlan.h"

#include "Runtime/JoinedPlan.h"

#include <cstdlib>

namespace sccl {

/// A plan as one rank of a MessageGroup has it.
class MessagePlan : public JoinedPlan {
public:
  /// Collective. `number` tells the plans of a communicator apart. Fails on all
  /// ranks if it fails on one, or if `before` is an error; then `plan` may be
  /// null. With `streams` it is executed in the order of streams if all ranks
  /// can; that they cannot is an error if that is required.
  static Status load(MessageGroup &group, MessageEngine &engine,
                     StreamGroup *streams, const Device &callers,
                     std::shared_ptr<const LoadedPlan> plan, unsigned number,
                     const Status &before, std::unique_ptr<JoinedPlan> &result);

  Status loadAgain() const override;
  uint64_t ownBytes() const override {
    return scratchSize + (stream ? stream->ownBytes() : 0);
  }
  /// Messages go from GPU to GPU. Then buffers are there, else on the host.
  bool isStreamed() const { return stream != nullptr; }
  /// See StreamPlan. Messages go from GPU to GPU.
  OutputPlace outputOf(const Flight &flight) const {
    return stream->outputOf(flight);
  }
  /// Where messages are in streams, in place of `execute`: does not wait.
  Status enqueue(const Flight &flight) { return stream->launch(flight); }
  /// Collective; see scclLaunch. Nothing else may be in flight. On the host
  /// there are `distance` bytes from a segment to the next.
  Status execute(Flight &flight, uint64_t distance);

  /// Of memory that GPUs of the host had mapped: it goes.
  void forget(uint64_t region) {
    if (stream)
      stream->forget(region);
  }

  ~MessagePlan() override;

private:
  MessagePlan(MessageGroup &group, MessageEngine &engine, StreamGroup *streams,
              const Device &callers, std::shared_ptr<const LoadedPlan> plan,
              unsigned number);
  Status connect();
  Status prepareStream();
  uint64_t balance() const;
  Status prepare();
  Status readTables();
  Status choose(Flight &flight) const override;
  bool mayStage(const LoadedProgram &program) const;
  uint64_t scratchBytes(const LoadedProgram &program, uint64_t piece,
                        unsigned rank) const;
  uint64_t mostScratch(const LoadedProgram &program, uint64_t piece) const;
  const MessageProgram &tableOf(const plan::KernelInfo &kernel) const;
  uint64_t pieceFor(const Choice &choice, uint64_t segment,
                    unsigned mostChunks) const;
  unsigned windowFor(const LoadedProgram &program, uint64_t piece) const;
  uint64_t bytesFor(const LoadedProgram &program, uint64_t piece) const;
  uint64_t neededBytes() const;
  Status growScratch(uint64_t bytes);

  MessageGroup &group;
  MessageEngine &engine;
  StreamGroup *const streams;           ///< or null
  std::vector<MessageProgram> messages; ///< by set of tables
  std::unique_ptr<StreamPlan> stream;   ///< null if hosts exchange messages
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> scratch;
  uint64_t scratchSize = 0;
  uint64_t budget = 0; ///< the most bytes of scratch, the same on all ranks
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPLAN_H
