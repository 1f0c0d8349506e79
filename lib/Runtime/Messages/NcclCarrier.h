//===- NcclCarrier.h - Messages of rounds by NCCL or RCCL -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_NCCLCARRIER_H
#define SCCL_LIB_RUNTIME_MESSAGES_NCCLCARRIER_H

#include "RoundCarrier.h"
#include "Runtime/Bootstrap.h"
#include "Runtime/Devices/Device.h"
#include "Runtime/Status.h"

#include <atomic>
#include <cstddef>
#include <memory>

namespace sccl {

// They are looked up when ranks with GPUs exchange messages, so libsccl needs
// neither library to be built nor to be loaded. RCCL has NCCL's interface, with
// the same names and numbers.

/// Tells the communicator of some ranks from all others.
struct NcclId {
  char bytes[128];
};

/// The functions, all of which there are but `lastError`. Streams are those of
/// the driver, and what is of type 0 has one byte.
struct NcclLibrary {
  int (*getVersion)(int *version);
  int (*getUniqueId)(NcclId *id);
  int (*initRank)(void **comm, int numRanks, NcclId id, int rank);
  int (*destroy)(void *comm);
  int (*abort)(void *comm);
  int (*asyncError)(void *comm, int *code);
  const char *(*errorString)(int code);
  int (*send)(const void *from, size_t count, int type, int peer, void *comm,
              void *stream);
  int (*receive)(void *to, size_t count, int type, int peer, void *comm,
                 void *stream);
  int (*groupStart)();
  int (*groupEnd)();
  const char *(*lastError)(void *comm); ///< or null
  int version;                          ///< 22803 is 2.28.3

  /// Success, or what `code` means that function `name` has returned.
  Status check(const char *name, int code, void *comm) const;
};

/// Finds the library for devices of `kind`, or the one that SCCL_NCCL_LIBRARY
/// names, where "none" is no library. Fails with scclErrorUnsupported if there
/// is none, or it cannot do what messages need.
Status loadNcclLibrary(scclDeviceKind kind, const NcclLibrary *&library);

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
