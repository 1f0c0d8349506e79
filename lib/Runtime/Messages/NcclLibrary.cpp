//===- NcclLibrary.cpp - Functions of NCCL and of RCCL --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclLibrary.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <dlfcn.h>

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
