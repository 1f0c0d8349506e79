//===- RealLibrary.cpp - The vendor's library -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RealLibrary.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <dlfcn.h>
#include <unistd.h>

using namespace sccl::vendor;

static thread_local std::string message;

/// The first of the libraries that is there, and is not this one.
static void *openFirst(std::initializer_list<const char *> names) {
  Dl_info own = {}, other = {};
  dladdr(reinterpret_cast<void *>(&openFirst), &own);
  for (const char *name : names) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void *probe = library ? dlsym(library, "ncclGetVersion") : nullptr;
    if (probe && dladdr(probe, &other) && own.dli_fbase == other.dli_fbase)
      continue;
    if (library)
      return library;
  }
  return nullptr;
}

/// What SCCL_NCCL_LIBRARY names; null if it is not set. "none", or nothing, is
/// no library.
static const char *givenName() { return secure_getenv("SCCL_NCCL_LIBRARY"); }
static bool isNone(const char *name) {
  return !*name || !std::strcmp(name, "none");
}

static bool isVendor(void *library) { return dlsym(library, "ncclGetVersion"); }

bool sccl::vendor::usesHostMemory() {
  const char *kind = std::getenv("SCCL_NCCL_DEVICE");
  return kind && !std::strcmp(kind, "cpu");
}

static void *openReal() {
  if (const char *given = givenName()) {
    void *library = isNone(given) ? nullptr : openFirst({given});
    return library && isVendor(library) ? library : nullptr;
  }
  // The vendors' libraries serve memory of GPUs, and do not start without one.
  if (usesHostMemory())
    return nullptr;
  return openFirst({"libnccl.so.2", "librccl.so.1"});
}

static void *realLibrary() {
  static void *library = openReal();
  return library;
}

std::string sccl::vendor::libraryProblem() {
  const char *given = givenName();
  if (!given || isNone(given) || realLibrary())
    return "";
  void *library = dlopen(given, RTLD_NOW | RTLD_LOCAL);
  const char *reason = !library ? dlerror()
                       : isVendor(library)
                           ? "it is this library"
                           : "it has no function ncclGetVersion";
  return "SCCL_NCCL_LIBRARY is '" + std::string(given) +
         "', which cannot be used: " + reason;
}

void *sccl::vendor::realFunction(const char *name) {
  return realLibrary() ? dlsym(realLibrary(), name) : nullptr;
}

bool sccl::vendor::hasRealLibrary() { return realLibrary(); }

void DestroyReal::operator()(ncclComm_t real) const {
  using Function = ncclResult_t (*)(ncclComm_t);
  auto function = reinterpret_cast<Function>(realFunction("ncclCommDestroy"));
  if (function)
    (void)function(real);
}

static void *cudaDriver() {
  static void *driver = openFirst({"libcuda.so.1"});
  return driver;
}

bool sccl::vendor::usesCUDA() {
  const char *kind = std::getenv("SCCL_NCCL_DEVICE");
  return cudaDriver() && !(kind && !std::strcmp(kind, "hip"));
}

void *sccl::vendor::driverFunction(const char *cuda, const char *hip) {
  if (usesCUDA())
    return dlsym(cudaDriver(), cuda);
  static void *driver =
      openFirst({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"});
  return driver ? dlsym(driver, hip) : nullptr;
}

ncclResult_t sccl::vendor::failWith(ncclResult_t code, const char *text) {
  message = text;
  if (code == ncclInvalidUsage && message.rfind("nccl", 0) == 0)
    message = "no plan of SCCL_PLAN_PATH serves this call, and there is no "
              "library of the vendor with " +
              message;
  return code;
}

ncclResult_t sccl::vendor::settleReal(ncclComm_t real, ncclResult_t code) {
  while (code == ncclInProgress && real) {
    usleep(1000);
    if (ncclResult_t failed = callReal("ncclCommGetAsyncError", real, &code))
      return failed;
  }
  return code;
}

ncclResult_t sccl::vendor::keepRealMessage(ncclResult_t code) {
  using Function = const char *(*)(ncclComm_t);
  auto function = reinterpret_cast<Function>(realFunction("ncclGetLastError"));
  if (code != ncclSuccess && code != ncclInProgress)
    message = function ? function(nullptr) : "";
  return code;
}

const char *sccl::vendor::lastMessage() { return message.c_str(); }
