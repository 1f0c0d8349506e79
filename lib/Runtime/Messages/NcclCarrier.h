//===- NcclCarrier.h - Messages of rounds by NCCL or RCCL -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_NCCLCARRIER_H
#define SCCL_LIB_RUNTIME_MESSAGES_NCCLCARRIER_H

#include "NcclLibrary.h"
#include "RoundCarrier.h"

#include "Runtime/Bootstrap.h"
#include "Runtime/Devices/Device.h"

#include <atomic>
#include <memory>

namespace sccl {

/// A communicator of the library, of one rank. Messages are a group in the
/// caller's stream.
class NcclCarrier : public RoundCarrier {
public:
  /// Collective, on all ranks with one version of the library. Fails on all if
  /// it fails on one.
  static Status open(const Bootstrap &bootstrap, unsigned rank,
                     const NcclLibrary &library, Device &device,
                     std::unique_ptr<RoundCarrier> &result);
  /// Lets go of messages that are under way if it was aborted.
  ~NcclCarrier() override;
  NcclCarrier(const NcclCarrier &) = delete;

  bool isInStream() const override { return true; }
  Status begin(llvm::ArrayRef<unsigned>, void *) override { return {}; }
  Status exchange(llvm::ArrayRef<RoundMessage> messages, void *stream) override;
  Status end(void *) override { return {}; }
  Status poll() const override;
  void abort() override;

private:
  NcclCarrier(const NcclLibrary &library, Device &device)
      : library(library), device(device) {}
  Status join(const Bootstrap &bootstrap, unsigned rank);
  Status check(const char *name, int code) const {
    return library.check(name, code, comm);
  }
  Status checkUse() const;
  Status post(const RoundMessage &message, void *driverStream) const;

  const NcclLibrary &library;
  Device &device;
  void *comm = nullptr;
  std::atomic<bool> isAborted = false;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_NCCLCARRIER_H
