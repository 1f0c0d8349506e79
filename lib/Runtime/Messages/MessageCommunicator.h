//===- MessageCommunicator.h - Ranks on any hosts ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGECOMMUNICATOR_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGECOMMUNICATOR_H

#include "HostStaging.h"
#include "LeftMessages.h"
#include "MessageEngine.h"
#include "StreamGroup.h"
#include "StreamWatch.h"

#include "Runtime/LaunchQueue.h"
#include "Runtime/Membership.h"

namespace sccl {

class MessagePlan;

/// A group of ranks that exchange messages, and the plans it has loaded.
class MessageCommunicator : public Membership {
public:
  /// Collective, also if `arguments` is an error, which all ranks get then.
  /// Takes over the transport, which is closed if this fails.
  /// `original` is that of MessageGroup, for a part.
  static Status create(const scclTransport &transport, const scclConfig &config,
                       const Status &arguments,
                       std::unique_ptr<Membership> &result,
                       std::optional<unsigned> original = {});
  ~MessageCommunicator() override;

  unsigned rank() const override { return group->rank(); }
  unsigned numRanks() const override { return group->numRanks(); }
  const scclConfig &config() const override { return group->config; }
  const Device &device() const override { return *group->device; }
  bool isInherited() const override;
  Status checkProcess() const override;
  void unmap() override {}
  void abort() override;
  Status poison() const override { return group->poison(); }
  void refresh() override;
  void countFailure(const Status &why) override;
  Status split(int color, int key, const scclConfig &config,
               const Status &arguments,
               std::unique_ptr<Membership> &result) const override;

  Status launch(JoinedPlan &plan, const LaunchRequest &request) override;
  Status launchLater(JoinedPlan &plan, const LaunchRequest &request,
                     uint64_t &ticket) override;
  Status await(uint64_t ticket) override;
  Status allocate(size_t bytes, void **memory) override;
  Status free(void *memory) override;
  Status copy(void *to, const void *from, size_t bytes) override;

private:
  explicit MessageCommunicator(std::unique_ptr<MessageGroup> group)
      : group(std::move(group)), engine(*this->group),
        left(*this->group, engine) {}
  Status join(const std::shared_ptr<const LoadedPlan> &plan, unsigned number,
              const Status &before,
              std::unique_ptr<JoinedPlan> &result) override;
  Status launchNow(JoinedPlan &plan, const LaunchRequest &request);
  Status executeSlices(MessagePlan &plan, const JoinedPlan::Flight &flight);
  Status execute(MessagePlan &plan, JoinedPlan::Flight &flight);
  Status enqueue(MessagePlan &plan, const JoinedPlan::Flight &flight);
  Status compareCalls(const MessagePlan &plan,
                      const JoinedPlan::Flight &flight);
  Status openStreams(scclDeviceKind kind);
  void leaveStreams();
  Status gatherByMessages();
  void awaitLaunches() const;
  void failNow(const Status &why);
  void look();

  std::unique_ptr<MessageGroup> group;
  MessageEngine engine;
  mutable LeftMessages left;            ///< by `engine`
  std::unique_ptr<HostStaging> staging; ///< null if buffers are on the host
  std::unique_ptr<StreamGroup> streams; ///< null if no library sends
  std::unique_ptr<StreamWatch> watch;   ///< of what is in streams
  std::unique_ptr<LaunchQueue> queue;   ///< null until it is needed
  std::vector<void *> blocks;           ///< of scclMemAlloc, on the host
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGECOMMUNICATOR_H
