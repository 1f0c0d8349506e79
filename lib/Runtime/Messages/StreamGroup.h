//===- StreamGroup.h - Messages in the order of streams ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where all ranks have a GPU, messages go from GPU to GPU, round by round, and
// the plan's kernels add up. NCCL or RCCL carries them, in the order of the
// caller's streams, or else the transport, if it takes memory of GPUs. All
// ranks have one way; SCCL_TRANSPORT is nccl, rccl, direct or staging if there
// is to be no other.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_STREAMGROUP_H
#define SCCL_LIB_RUNTIME_MESSAGES_STREAMGROUP_H

#include "NearRanks.h"
#include "RoundCarrier.h"

#include "Runtime/Bootstrap.h"
#include "Runtime/Devices/Device.h"

#include <memory>

namespace sccl {

class MessageEngine;
class MessageGroup;

/// The GPUs of a group of ranks, as one of them sees it.
class StreamGroup {
public:
  /// What SCCL_TRANSPORT asks for.
  enum class Wish : uint32_t { None, Nccl, Rccl, Direct, Staging, Unknown };
  static Wish wish();
  /// True if the ranks have to find out together which way to take, if this one
  /// has a device of `kind`.
  static bool isOfInterest(scclDeviceKind kind);

  /// Collective, if it is of interest to some rank. `engine` sends by the
  /// transport of `group`, and `staging` is null on a rank without a GPU.
  /// Without a way that all ranks can go `result` is null; that is an error if
  /// some rank has asked for one by name.
  static Status open(const MessageGroup &group, MessageEngine &engine,
                     scclDeviceKind kind, HostStaging *staging,
                     std::unique_ptr<StreamGroup> &result);

  /// Some rank has asked for it by name.
  bool isRequired() const {
    return required || (theNear && theNear->isRequired());
  }
  /// Null if all messages within hosts are the carrier's.
  NearRanks *near() const { return theNear.get(); }
  Device &device() const { return theDevice; }
  RoundCarrier &carrier() const { return *theCarrier; }

  /// Ends what is under way in streams. Thread-safe.
  void abort();

private:
  StreamGroup(std::unique_ptr<RoundCarrier> carrier, Device &device,
              bool required)
      : theDevice(device), required(required), theCarrier(std::move(carrier)) {}
  static Status find(const MessageGroup &group, MessageEngine &engine,
                     scclDeviceKind kind, Device *device,
                     std::unique_ptr<StreamGroup> &result);

  Device &theDevice;
  const bool required;
  std::unique_ptr<RoundCarrier> theCarrier;
  std::unique_ptr<NearRanks> theNear;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_STREAMGROUP_H
