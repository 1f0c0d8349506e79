//===- StreamGroup.cpp - Messages in the order of streams -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamGroup.h"

#include "HostStaging.h"
#include "MessageEngine.h"
#include "NcclCarrier.h"
#include "Wishes.h"

#include <cstdlib>
#include <cstring>

using namespace sccl;

// Where a transport takes memory of the GPU, as MPI that is aware of CUDA, its
// messages go there and come from there. It knows no streams: the host waits
// for what is enqueued, exchanges the messages of a round, and enqueues what
// follows.

namespace {
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
} // namespace

namespace {
/// What ranks tell each other to find a way that all can go.
struct Offer {
  StreamGroup::Wish wish;
  int32_t kind;    ///< a scclDeviceKind
  int32_t version; ///< of the library
  uint64_t machine;
  char device[32]; ///< tells those of a machine apart
  Outcome outcome; ///< why this rank has no library
  Outcome direct;  ///< why its transport cannot carry what is on its GPU
};
} // namespace

static const char *const wishNames[] = {"", "nccl", "rccl", "direct",
                                        "staging"};
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
                   "', expected nccl, rccl, direct or staging");
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

/// The same by transports. Ranks may have GPUs of several vendors, and share
/// them.
static std::string findDirectObstacle(const Gathered<Offer> &offers) {
  for (unsigned rank = 0; rank < offers.size(); ++rank)
    if (offers[rank].direct.code != scclSuccess)
      return nameOf(rank) + ": " + offers[rank].direct.message;
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

Status StreamGroup::open(const MessageGroup &group, MessageEngine &engine,
                         scclDeviceKind kind, HostStaging *staging,
                         std::unique_ptr<StreamGroup> &result) {
  std::unique_ptr<StreamGroup> made;
  Device *device = staging ? &staging->device() : nullptr;
  if (Status status = find(group, engine, kind, device, made); !status.ok())
    return status;
  std::unique_ptr<NearRanks> near;
  if (Status status =
          NearRanks::open(group.bootstrap, group.rank(), group.originalRank(),
                          group.host(), made ? staging : nullptr, near);
      !status.ok())
    return status;
  if (made)
    made->theNear = std::move(near);
  result = std::move(made);
  return {};
}

/// What this rank can offer, and the library if it has one.
static Offer offerOf(const MessageGroup &group, scclDeviceKind kind,
                     const Device *device, const NcclLibrary *&library) {
  Offer offer = {};
  offer.wish = StreamGroup::wish();
  offer.kind = int32_t(kind);
  offer.outcome = Outcome(attempt([&]() -> Status {
    if (Status found = findLibrary(offer.wish, kind, device, library);
        !found.ok())
      return found;
    std::strncpy(offer.device, device->id().c_str(), sizeof(offer.device) - 1);
    offer.version = library->version;
    return machineId(offer.machine, group.originalRank());
  }));
  offer.direct = Outcome(attempt([&]() -> Status {
    if (!device)
      return {scclErrorUnsupported, "its buffers are in memory of the host"};
    if (!group.carries(kind))
      return {scclErrorUnsupported,
              "its transport does not say that it takes memory of its GPU"};
    return {};
  }));
  return offer;
}

static Status refuse(StreamGroup::Wish wish, const std::string &obstacle) {
  return {scclErrorUnsupported, "SCCL_TRANSPORT is " +
                                    std::string(wishNames[unsigned(wish)]) +
                                    ", and cannot be used: " + obstacle};
}

/// Who carries messages: the library before the transport.
Status StreamGroup::find(const MessageGroup &group, MessageEngine &engine,
                         scclDeviceKind kind, Device *device,
                         std::unique_ptr<StreamGroup> &result) {
  const NcclLibrary *library = nullptr;
  Gathered<Offer> offers(group.numRanks());
  if (Status gathered =
          group.bootstrap.gather(offerOf(group, kind, device, library), offers);
      !gathered.ok())
    return gathered;
  Wish wish = Wish::None;
  if (Status agreed = agreeOnWish(offers, wish); !agreed.ok())
    return agreed;
  bool required = wish == Wish::Nccl || wish == Wish::Rccl;
  std::unique_ptr<RoundCarrier> carrier;
  if (required || wish == Wish::None) {
    std::string obstacle = findObstacle(offers);
    Status status = obstacle.empty()
                        ? NcclCarrier::open(group.bootstrap, group.rank(),
                                            *library, *device, carrier)
                        : refuse(wish, obstacle);
    if (required && !status.ok())
      return status;
  }
  if (!carrier && !required && wish != Wish::Staging) {
    std::string obstacle = findDirectObstacle(offers);
    if (!obstacle.empty())
      return wish == Wish::Direct ? refuse(wish, obstacle) : Status();
    carrier = std::make_unique<DirectCarrier>(engine, *device);
  }
  if (carrier)
    result.reset(
        new StreamGroup(std::move(carrier), *device, wish != Wish::None));
  return {};
}

void StreamGroup::abort() {
  if (theNear)
    theNear->abort();
  theCarrier->abort();
}
