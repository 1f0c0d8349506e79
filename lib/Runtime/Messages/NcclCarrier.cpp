//===- NcclCarrier.cpp - Messages of rounds by NCCL or RCCL ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclCarrier.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>

using namespace sccl;

/// Groups of sends and receives that graphs may capture are older, but not all
/// of what they need is.
static constexpr int leastVersion = 21000;
static constexpr int inProgress = 7;

static std::string versionText(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

static Status unusable(const std::string &name, const std::string &why) {
  return {scclErrorUnsupported, name + " cannot be used: " + why};
}

/// True if a library is libsccl-nccl, under whatever name: that has no messages
/// of its own, and alone needs libsccl.
static bool isOwn(void *library) { return dlsym(library, "scclGetVersion"); }

static Status open(const std::string &name, NcclLibrary &library) {
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return unusable(name, dlerror());
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *symbol) {
    void *found = dlsym(handle, symbol);
    if (!found && !missing)
      missing = symbol;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
  };
  find(library.getVersion, "ncclGetVersion");
  find(library.getUniqueId, "ncclGetUniqueId");
  find(library.initRank, "ncclCommInitRank");
  find(library.destroy, "ncclCommDestroy");
  find(library.abort, "ncclCommAbort");
  find(library.asyncError, "ncclCommGetAsyncError");
  find(library.errorString, "ncclGetErrorString");
  find(library.send, "ncclSend");
  find(library.receive, "ncclRecv");
  find(library.groupStart, "ncclGroupStart");
  find(library.groupEnd, "ncclGroupEnd");
  library.lastError = reinterpret_cast<decltype(library.lastError)>(
      dlsym(handle, "ncclGetLastError"));
  Status status;
  if (missing)
    status = unusable(name, std::string("it has no function ") + missing);
  else if (isOwn(handle))
    status = unusable(name, "it is libsccl-nccl");
  else
    status = library.check("ncclGetVersion",
                           library.getVersion(&library.version), nullptr);
  if (status.ok() && library.version < leastVersion)
    status =
        unusable(name, "it has version " + versionText(library.version) +
                           ", and " + versionText(leastVersion) + " is needed");
  if (!status.ok())
    dlclose(handle);
  return status;
}

Status NcclLibrary::check(const char *name, int code, void *comm) const {
  if (code == 0 || code == inProgress)
    return {};
  std::string text = errorString(code);
  if (const char *more = lastError ? lastError(comm) : nullptr; more && *more)
    text += std::string(": ") + more;
  return {scclErrorSystem, std::string(name) + " failed: " + text};
}

Status sccl::loadNcclLibrary(scclDeviceKind kind, const NcclLibrary *&library) {
  static std::mutex mutex;
  static std::map<std::string, NcclLibrary> loaded;
  const char *given = secure_getenv("SCCL_NCCL_LIBRARY");
  if (given && (!*given || !std::strcmp(given, "none")))
    return {scclErrorUnsupported, "SCCL_NCCL_LIBRARY says that there is none"};
  std::string name = given                    ? given
                     : kind == scclDeviceCUDA ? "libnccl.so.2"
                                              : "librccl.so.1";
  std::lock_guard lock(mutex);
  auto found = loaded.find(name);
  if (found == loaded.end()) {
    NcclLibrary made = {};
    if (Status status = open(name, made); !status.ok())
      return status;
    found = loaded.emplace(name, made).first;
  }
  library = &found->second;
  return {};
}

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
