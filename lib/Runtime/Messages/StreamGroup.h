//===- StreamGroup.h - Messages in the order of streams ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where all ranks have a GPU, and NCCL or RCCL serves it, messages go by that
// library, in the order of the caller's streams. All ranks do or none does;
// SCCL_TRANSPORT is nccl, rccl or staging if there is to be no other way.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_STREAMGROUP_H
#define SCCL_LIB_RUNTIME_MESSAGES_STREAMGROUP_H

#include "NcclLibrary.h"
#include "NearRanks.h"

#include "Runtime/Bootstrap.h"
#include "Runtime/Devices/Device.h"

#include <atomic>
#include <memory>

namespace sccl {

/// A communicator of the library, of one rank.
class StreamGroup {
public:
  /// What SCCL_TRANSPORT asks for.
  enum class Wish : uint32_t { None, Nccl, Rccl, Staging, Unknown };
  static Wish wish();
  /// True if the ranks have to find out together which way to take, if this one
  /// has a device of `kind`.
  static bool isOfInterest(scclDeviceKind kind);

  /// Collective, if it is of interest to some rank. `host` is that of the
  /// transport, and `staging` is null on a rank without a GPU. Without a way
  /// that all ranks can go `result` is null; that is an error if some rank has
  /// asked for one by name.
  static Status open(const Bootstrap &bootstrap, unsigned rank, int host,
                     scclDeviceKind kind, HostStaging *staging,
                     std::unique_ptr<StreamGroup> &result);
  /// Lets go of messages that are under way if it was aborted.
  ~StreamGroup();
  StreamGroup(const StreamGroup &) = delete;

  /// Some rank has asked for it by name.
  bool isRequired() const {
    return required || (theNear && theNear->isRequired());
  }
  /// Null if messages within hosts are none but those of the library.
  const NearRanks *near() const { return theNear.get(); }
  Device &device() const { return theDevice; }

  // Messages between `begin` and `end` go together, as one thing in a stream.
  // Those that one rank sends to another arrive in the order in which both name
  // them. After an error `end` is due all the same.
  Status begin() const;
  Status send(const void *from, uint64_t bytes, unsigned peer,
              void *driverStream) const;
  Status receive(void *to, uint64_t bytes, unsigned peer,
                 void *driverStream) const;
  Status end() const;

  /// What has gone wrong in a stream, if anything has.
  Status poll() const;
  /// Ends what is under way in streams. Thread-safe.
  void abort();

private:
  StreamGroup(const NcclLibrary &library, Device &device, bool required)
      : library(library), theDevice(device), required(required) {}
  static Status find(const Bootstrap &bootstrap, unsigned rank,
                     scclDeviceKind kind, Device *device,
                     std::unique_ptr<StreamGroup> &result);
  Status join(const Bootstrap &bootstrap, unsigned rank);
  Status check(const char *name, int code) const {
    return library.check(name, code, comm);
  }
  Status checkUse() const;

  const NcclLibrary &library;
  Device &theDevice;
  const bool required;
  void *comm = nullptr;
  std::unique_ptr<NearRanks> theNear;
  std::atomic<bool> isAborted = false;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_STREAMGROUP_H
