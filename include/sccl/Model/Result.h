//===- Result.h - A value or an error message -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Model layer links neither LLVM nor MLIR, so it carries its own minimal
// result type. Messages follow the verifier style: lower-case, no final period,
// the actual value and the limit.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_RESULT_H
#define SCCL_MODEL_RESULT_H

#include <string>
#include <utility>
#include <variant>

namespace sccl {

/// Why an operation could not deliver its value.
struct Error {
  std::string message;
};

/// Either a `T` or an `Error`. Test with `operator bool` before dereferencing.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : storage(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return *std::get_if<0>(&storage); }
  const T &operator*() const { return *std::get_if<0>(&storage); }
  T *operator->() { return std::get_if<0>(&storage); }
  const T *operator->() const { return std::get_if<0>(&storage); }

  /// The message of a failed result; empty if there is a value.
  const std::string &error() const {
    static const std::string none;
    const Error *e = std::get_if<1>(&storage);
    return e ? e->message : none;
  }

private:
  std::variant<T, Error> storage;
};

} // namespace sccl

#endif // SCCL_MODEL_RESULT_H
