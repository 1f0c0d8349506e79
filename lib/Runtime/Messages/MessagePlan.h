//===- MessagePlan.h - A plan of ranks that exchange messages ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPLAN_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPLAN_H

#include "MessageEngine.h"

#include "Runtime/JoinedPlan.h"

namespace sccl {

/// A plan as one rank of a MessageGroup has it.
class MessagePlan : public JoinedPlan {
public:
  /// Collective. `number` tells the plans of a communicator apart. Fails on all
  /// ranks if it fails on one, or if `before` is an error; then `plan` may be
  /// null.
  static Status load(MessageGroup &group, MessageEngine &engine,
                     std::shared_ptr<const LoadedPlan> plan, unsigned number,
                     const Status &before, std::unique_ptr<JoinedPlan> &result);

  Status loadAgain() const override;
  uint64_t ownBytes() const override { return scratch ? scratch->size() : 0; }
  /// Collective; see scclLaunch. Nothing else may be in flight.
  Status execute(Flight &flight);

private:
  MessagePlan(MessageGroup &group, MessageEngine &engine,
              std::shared_ptr<const LoadedPlan> plan, unsigned number);
  Status connect();
  Status prepare();
  Status readTables();
  Status choose(Flight &flight) const override;
  bool mayStage(const Program &program) const;
  uint64_t scratchBytes(const Program &program, uint64_t piece,
                        unsigned rank) const;
  uint64_t mostScratch(const Program &program, uint64_t piece) const;

  MessageGroup &group;
  MessageEngine &engine;
  std::vector<MessageProgram> messages; ///< by set of tables
  std::unique_ptr<DeviceBuffer> scratch;
  uint64_t budget = 0; ///< bytes of scratch
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPLAN_H
