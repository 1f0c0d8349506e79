//===- Status.h - Success, or a code and a message --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_STATUS_H
#define SCCL_LIB_RUNTIME_STATUS_H

#include "sccl/sccl.h"

#include <new>
#include <string>
#include <utility>

namespace sccl {

/// What a function of the library returns. Success allocates nothing.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(scclResult code, std::string message)
      : theCode(code), theMessage(std::move(message)) {}

  bool ok() const { return theCode == scclSuccess; }
  scclResult code() const { return theCode; }
  const std::string &message() const { return theMessage; }

private:
  scclResult theCode = scclSuccess;
  std::string theMessage;
};

inline Status invalid(std::string message) {
  return {scclErrorInvalidArgument, std::move(message)};
}

/// Runs the part of a collective call that needs nobody else. Running out of
/// memory is an error as others are, of which all ranks must learn.
template <typename Body> Status attempt(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return {scclErrorOutOfMemory, "out of memory"};
  }
}

/// A system call failed; `what` says which, errno why.
Status systemError(const std::string &what);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_STATUS_H
