//===- StreamGroup.cpp - Messages in the order of streams -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamGroup.h"

#include "HostStaging.h"
#include "Wishes.h"

#include <cstdlib>
#include <cstring>

using namespace sccl;

namespace {
/// What ranks tell each other to find a way that all can go.
struct Offer {
  StreamGroup::Wish wish;
  int32_t kind;    ///< a scclDeviceKind
  int32_t version; ///< of the library
  uint64_t machine;
  char device[32]; ///< tells those of a machine apart
  Outcome outcome; ///< why this rank has no library
};
/// The rank that makes it says which communicator all join.
struct Invitation {
  NcclId id;
  Outcome outcome;
};
} // namespace

static const char *const wishNames[] = {"", "nccl", "rccl", "staging"};
static constexpr WishNames wishes{"SCCL_TRANSPORT", wishNames};

StreamGroup::Wish StreamGroup::wish() { return wishes.read<Wish>(); }

bool StreamGroup::isOfInterest(scclDeviceKind kind) {
  return kind != scclDeviceCPU || wish() != Wish::None ||
         NearRanks::wish() != NearRanks::Wish::None;
}

/// Finds the library that this rank can offer.
static Status findLibrary(StreamGroup::Wish wish, scclDeviceKind kind,
                          const Device *device, const NcclLibrary *&library) {
  using Wish = StreamGroup::Wish;
  if (wish == Wish::Unknown)
    return invalid(std::string("SCCL_TRANSPORT is '") +
                   std::getenv("SCCL_TRANSPORT") +
                   "', expected nccl, rccl or staging");
  if (!device)
    return {scclErrorUnsupported, "its buffers are in memory of the host"};
  if ((wish == Wish::Nccl && kind != scclDeviceCUDA) ||
      (wish == Wish::Rccl && kind != scclDeviceHIP))
    return {scclErrorUnsupported,
            std::string("its GPU is not one for ") + wishNames[unsigned(wish)]};
  return loadNcclLibrary(kind, library);
}

static std::string nameOf(unsigned rank) {
  return "rank " + std::to_string(rank);
}

/// Why not all ranks can go by the library; empty if they can.
static std::string findObstacle(const Gathered<Offer> &offers) {
  for (unsigned rank = 0; rank < offers.size(); ++rank)
    if (offers[rank].outcome.code != scclSuccess)
      return nameOf(rank) + ": " + offers[rank].outcome.message;
  // Patches of a version understand each other.
  constexpr int patches = 100;
  for (unsigned rank = 0; rank < offers.size(); ++rank) {
    if (offers[rank].kind != offers[0].kind)
      return nameOf(rank) + " has a GPU of another vendor than " + nameOf(0);
    if (offers[rank].version / patches != offers[0].version / patches)
      return nameOf(rank) + " has version " +
             std::to_string(offers[rank].version) + " of the library, and " +
             nameOf(0) + " " + std::to_string(offers[0].version);
    for (unsigned other = 0; other < rank; ++other)
      if (offers[rank].machine == offers[other].machine &&
          !std::strcmp(offers[rank].device, offers[other].device))
        return nameOf(other) + " and " + nameOf(rank) + " share a GPU";
  }
  return "";
}

/// What the ranks have asked for together. Fails on all if that is not one.
static Status agreeOnWish(const Gathered<Offer> &offers,
                          StreamGroup::Wish &wish) {
  return wishes.agree(
      offers,
      [&](unsigned rank) -> std::string {
        return offers[rank].outcome.message;
      },
      wish);
}

Status StreamGroup::open(const Bootstrap &bootstrap, unsigned rank, int host,
                         scclDeviceKind kind, HostStaging *staging,
                         std::unique_ptr<StreamGroup> &result) {
  std::unique_ptr<StreamGroup> made;
  Device *device = staging ? &staging->device() : nullptr;
  if (Status status = find(bootstrap, rank, kind, device, made); !status.ok())
    return status;
  std::unique_ptr<NearRanks> near;
  if (Status status = NearRanks::open(bootstrap, rank, host,
                                      made ? staging : nullptr, near);
      !status.ok())
    return status;
  if (made)
    made->theNear = std::move(near);
  result = std::move(made);
  return {};
}

/// The library, and a communicator of it.
Status StreamGroup::find(const Bootstrap &bootstrap, unsigned rank,
                         scclDeviceKind kind, Device *device,
                         std::unique_ptr<StreamGroup> &result) {
  const NcclLibrary *library = nullptr;
  Offer offer = {};
  offer.wish = wish();
  offer.kind = int32_t(kind);
  Status status = attempt([&]() -> Status {
    if (Status found = findLibrary(offer.wish, kind, device, library);
        !found.ok())
      return found;
    std::strncpy(offer.device, device->id().c_str(), sizeof(offer.device) - 1);
    offer.version = library->version;
    return machineId(offer.machine);
  });
  offer.outcome = Outcome(status);
  Gathered<Offer> offers(bootstrap.size());
  if (Status gathered = bootstrap.gather(offer, offers); !gathered.ok())
    return gathered;
  Wish wish = Wish::None;
  if (Status agreed = agreeOnWish(offers, wish); !agreed.ok())
    return agreed;
  bool required = wish == Wish::Nccl || wish == Wish::Rccl;
  if (wish == Wish::Staging)
    return {};
  if (std::string obstacle = findObstacle(offers); !obstacle.empty())
    return required ? Status(scclErrorUnsupported,
                             "SCCL_TRANSPORT is " +
                                 std::string(wishNames[unsigned(wish)]) +
                                 ", and cannot be used: " + obstacle)
                    : Status();
  std::unique_ptr<StreamGroup> made(
      new StreamGroup(*library, *device, required));
  status = made->join(bootstrap, rank);
  if (status.ok())
    result = std::move(made);
  return required ? status : Status();
}

Status StreamGroup::join(const Bootstrap &bootstrap, unsigned rank) {
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
    return theDevice.withStream(nullptr, [&](void *) {
      return library.check(
          "ncclCommInitRank",
          library.initRank(&comm, int(bootstrap.size()), all[0].id, int(rank)),
          nullptr);
    });
  }));
}

StreamGroup::~StreamGroup() {
  if (comm && !isAborted.exchange(true))
    (void)library.destroy(comm);
}

void StreamGroup::abort() {
  if (theNear)
    theNear->abort();
  if (comm && !isAborted.exchange(true))
    (void)library.abort(comm);
}

/// Another thread may abort meanwhile.
Status StreamGroup::checkUse() const {
  return isAborted ? Status(scclErrorAborted, "the communicator was aborted")
                   : Status();
}

Status StreamGroup::begin() const {
  Status status = checkUse();
  return status.ok() ? check("ncclGroupStart", library.groupStart()) : status;
}

Status StreamGroup::send(const void *from, uint64_t bytes, unsigned peer,
                         void *driverStream) const {
  if (Status status = checkUse(); !status.ok())
    return status;
  return check("ncclSend", library.send(from, bytes, /*type=*/0, int(peer),
                                        comm, driverStream));
}

Status StreamGroup::receive(void *to, uint64_t bytes, unsigned peer,
                            void *driverStream) const {
  if (Status status = checkUse(); !status.ok())
    return status;
  return check("ncclRecv", library.receive(to, bytes, /*type=*/0, int(peer),
                                           comm, driverStream));
}

Status StreamGroup::end() const {
  return check("ncclGroupEnd", library.groupEnd());
}

Status StreamGroup::poll() const {
  if (isAborted)
    return {};
  int code = 0;
  Status status =
      check("ncclCommGetAsyncError", library.asyncError(comm, &code));
  return status.ok() ? check("a message in a stream", code) : status;
}
