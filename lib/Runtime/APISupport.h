//===- APISupport.h - What the C interface is made of -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_APISUPPORT_H
#define SCCL_LIB_RUNTIME_APISUPPORT_H

#include "Membership.h"
#include "Runtime/Devices/Device.h"

#include "sccl/sccl.h"

#include <atomic>
#include <exception>
#include <new>
#include <pthread.h>
#include <thread>

struct scclPlanImpl {
  std::shared_ptr<const sccl::LoadedPlan> plan; ///< null once destroyed
  std::atomic<bool> isDestroyed = false;
};

struct scclCommImpl {
  std::unique_ptr<sccl::Membership> comm; ///< null once destroyed
  std::atomic<bool> isDestroyed = false;
  /// See scclCommSetInterrupt; only `asker` asks.
  int (*interrupt)(void *) = nullptr;
  void *interruptContext = nullptr;
  std::thread::id asker;
};

namespace sccl {

/// Keeps the message for scclGetLastErrorMessage.
scclResult reportError(scclResult code, const char *message);

/// While it lives, this thread is not cancelled: that would leave half done
/// what peers wait for.
class NotCancelled {
public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); }
  NotCancelled(const NotCancelled &) = delete;
  ~NotCancelled() { pthread_setcancelstate(before, nullptr); }

private:
  int before;
};

/// Runs the body of an API function: no exception leaves it.
template <typename Body> scclResult guarded(Body body) {
  NotCancelled notCancelled;
  try {
    Status status = body();
    return status.ok() ? scclSuccess
                       : reportError(status.code(), status.message().c_str());
  } catch (const std::bad_alloc &) {
    return reportError(scclErrorOutOfMemory, "out of memory");
  } catch (const std::exception &error) {
    return reportError(scclErrorInternal, error.what());
  } catch (...) {
    return reportError(scclErrorInternal, "unknown exception");
  }
}

Status isNull(const char *name);
/// Structures of the API begin with their size, so that they can grow.
Status checkSize(size_t size, size_t expected, const char *name);
/// Fails if the communicator cannot be used at all.
Status checkComm(scclComm comm);
/// Fails if there is no plan.
Status checkPlan(scclPlan plan);

/// Runs the body of an API function with the ranks of `comm`, if that can be
/// used.
template <typename Body> scclResult withComm(scclComm comm, Body body) {
  return guarded([&]() -> Status {
    if (Status status = checkComm(comm); !status.ok())
      return status;
    return body(*comm->comm);
  });
}

/// Runs what may wait for long, and gives up if the caller says so meanwhile.
template <typename Body> Status interruptibly(scclComm comm, Body body) {
  if (!comm->interrupt || std::this_thread::get_id() != comm->asker)
    return body();
  auto ask = [comm] {
    if (comm->interrupt(comm->interruptContext) != 0)
      comm->comm->abort();
  };
  Patience::Asking asking(ask);
  return body();
}

/// Both.
template <typename Body>
scclResult withCommInterruptibly(scclComm comm, Body body) {
  return withComm(comm, [&](Membership &ranks) {
    return interruptibly(comm, [&] { return body(ranks); });
  });
}

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_APISUPPORT_H
