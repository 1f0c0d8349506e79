//===- UcxLibrary.cpp - Messages to other hosts without MPI ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UcxLibrary.h"

#include "Runtime/Quiet.h"
#include "UcxTransport.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <dlfcn.h>

using namespace sccl;

using MakeTransport = decltype(scclUcxTransport);
static constexpr char libraryName[] = "libsccl-ucx.so.0";
static_assert(SCCL_VERSION_CODE / 10000 == 0, "the name has the version");

namespace {
/// Keeps what the program does with signals: UCX handles some from the moment
/// when it is loaded.
class KeptSignals {
public:
  KeptSignals() {
    for (int signal = 1; signal < NSIG; ++signal)
      isKnown[signal] = sigaction(signal, nullptr, &actions[signal]) == 0;
  }
  KeptSignals(const KeptSignals &) = delete;
  ~KeptSignals() {
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction now;
      if (isKnown[signal] && sigaction(signal, nullptr, &now) == 0 &&
          now.sa_handler != actions[signal].sa_handler)
        sigaction(signal, &actions[signal], nullptr);
    }
  }

private:
  std::array<struct sigaction, NSIG> actions;
  std::array<bool, NSIG> isKnown = {};
};
} // namespace

/// The library beside this one, or else where the system finds it.
static void *openLibrary(const char *given) {
  KeptSignals keptSignals;
  if (given)
    return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  Dl_info own = {};
  if (dladdr(reinterpret_cast<void *>(&makeUcxTransport), &own) &&
      own.dli_fname) {
    std::string path = own.dli_fname;
    path.erase(path.rfind('/') + 1);
    if (void *library =
            dlopen((path + libraryName).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  }
  return dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
}

static Status load(MakeTransport *&function) {
  static std::mutex mutex;
  static MakeTransport *loaded = nullptr;
  const char *given = secure_getenv("SCCL_UCX_LIBRARY");
  if (given && (!*given || !std::strcmp(given, "none")))
    return {scclErrorUnsupported, "SCCL_UCX_LIBRARY says that there is none"};
  std::lock_guard lock(mutex);
  if (!loaded) {
    void *library = openLibrary(given);
    if (!library)
      return {scclErrorUnsupported, dlerror()};
    loaded =
        reinterpret_cast<MakeTransport *>(dlsym(library, "scclUcxTransport"));
    if (!loaded)
      return {scclErrorUnsupported,
              std::string(given ? given : libraryName) + " is no libsccl-ucx"};
  }
  function = loaded;
  return {};
}

/// The same error on all ranks if one of them has one; it names the first.
static Status agreeOnLibrary(const Bootstrap &bootstrap, const Status &own,
                             const Status &why) {
  struct Answer {
    Outcome outcome;
  };
  Gathered<Answer> all(bootstrap.size());
  if (Status gathered = bootstrap.gather(Answer{Outcome(own)}, all);
      !gathered.ok())
    return gathered;
  Status first = bootstrap.agree(Status(), all);
  if (first.ok())
    return first;
  return {first.code(), why.message() +
                            ", and not all have libsccl-ucx to exchange "
                            "messages: " +
                            first.message() +
                            "; install it, or call scclCommInitMPI"};
}

Status sccl::makeUcxTransport(const Bootstrap &bootstrap, unsigned rank,
                              double limitSeconds, const Status &why,
                              scclTransport &transport) {
  MakeTransport *make = nullptr;
  Status loaded = attempt([&] { return load(make); });
  if (Status agreed = agreeOnLibrary(bootstrap, loaded, why); !agreed.ok())
    return agreed;
  // UCX has a thread.
  Quiet quiet;
  auto gather = [](void *context, const void *mine, void *all, size_t bytes) {
    return static_cast<const Bootstrap *>(context)->gatherBytes(mine, all,
                                                                bytes);
  };
  scclResult code =
      make(int(rank), int(bootstrap.size()), gather,
           const_cast<Bootstrap *>(&bootstrap), limitSeconds, &transport);
  Status made =
      code == scclSuccess ? Status() : Status(code, scclGetLastErrorMessage());
  Status agreed = bootstrap.agree(made);
  if (made.ok() && !agreed.ok())
    transport.close(transport.context, /*failed=*/1);
  return agreed;
}
