//===- NcclCarrier.cpp - Messages of rounds by NCCL or RCCL ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclCarrier.h"

using namespace sccl;

namespace {
/// The rank that makes it says which communicator all join.
struct Invitation {
  NcclId id;
  Outcome outcome;
};
} // namespace

RoundCarrier::~RoundCarrier() = default;

Status NcclCarrier::open(const Bootstrap &bootstrap, unsigned rank,
                         const NcclLibrary &library, Device &device,
                         std::unique_ptr<RoundCarrier> &result) {
  std::unique_ptr<NcclCarrier> made(new NcclCarrier(library, device));
  Status status = made->join(bootstrap, rank);
  if (status.ok())
    result = std::move(made);
  return status;
}

Status NcclCarrier::join(const Bootstrap &bootstrap, unsigned rank) {
  Invitation own = {};
  if (rank == 0)
    own.outcome = Outcome(attempt([&] {
      return library.check("ncclGetUniqueId", library.getUniqueId(&own.id),
                           nullptr);
    }));
  Gathered<Invitation> all(bootstrap.size());
  if (Status status = bootstrap.gather(own, all); !status.ok())
    return status;
  if (Status status = bootstrap.agree(Status(), all); !status.ok())
    return status;
  return bootstrap.agree(attempt([&] {
    return device.withStream(nullptr, [&](void *) {
      return library.check(
          "ncclCommInitRank",
          library.initRank(&comm, int(bootstrap.size()), all[0].id, int(rank)),
          nullptr);
    });
  }));
}

NcclCarrier::~NcclCarrier() {
  if (comm && !isAborted.exchange(true))
    (void)library.destroy(comm);
}

void NcclCarrier::abort() {
  if (comm && !isAborted.exchange(true))
    (void)library.abort(comm);
}

/// Another thread may abort meanwhile.
Status NcclCarrier::checkUse() const {
  return isAborted ? Status(scclErrorAborted, "the communicator was aborted")
                   : Status();
}

Status NcclCarrier::post(const RoundMessage &message,
                         void *driverStream) const {
  if (Status status = checkUse(); !status.ok())
    return status;
  constexpr int bytes = 0; // the type
  int peer = int(message.peer);
  return message.isSend
             ? check("ncclSend", library.send(message.data, message.bytes,
                                              bytes, peer, comm, driverStream))
             : check("ncclRecv",
                     library.receive(message.data, message.bytes, bytes, peer,
                                     comm, driverStream));
}

/// The messages of a round are one group: see MessageTable.h for why groups do
/// not wait for each other forever.
Status NcclCarrier::exchange(llvm::ArrayRef<RoundMessage> messages,
                             void *stream) {
  return device.withStream(stream, [&](void *driverStream) {
    Status status = checkUse();
    if (status.ok())
      status = check("ncclGroupStart", library.groupStart());
    if (!status.ok())
      return status;
    for (const RoundMessage &message : messages)
      if (status.ok())
        status = post(message, driverStream);
    // After an error, too.
    Status ended = check("ncclGroupEnd", library.groupEnd());
    return status.ok() ? ended : status;
  });
}

Status NcclCarrier::poll() const {
  if (isAborted)
    return {};
  int code = 0;
  Status status =
      check("ncclCommGetAsyncError", library.asyncError(comm, &code));
  return status.ok() ? check("a message in a stream", code) : status;
}
