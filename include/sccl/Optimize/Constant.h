//===- Constant.h - Numbers that steer searches -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that decide which schedules and bounds are found, or how soon, and
// that only measurements can justify. Each stage has one table of them, its
// Constants.h, and `utils/makers.py --constants` weighs them: docs/Makers.md.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIMIZE_CONSTANT_H
#define SCCL_OPTIMIZE_CONSTANT_H

#include <atomic>
#include <string>

namespace sccl {

/// The name of a constant, and whether anything has read it.
class ConstantEntry {
public:
  explicit ConstantEntry(const char *name);
  ConstantEntry(const ConstantEntry &) = delete;

  const char *const name;
  bool isRead() const { return read.load(std::memory_order_relaxed); }

protected:
  /// `usual`, or what the environment variable SCCL_CONSTANT=NAME=VALUE says.
  double valueOr(double usual) const;
  void noteRead() const {
    if (!isRead())
      read.store(true, std::memory_order_relaxed);
  }

private:
  mutable std::atomic<bool> read = false;
};

/// A number that steers a search. SCCL_CONSTANT=NAME=VALUE replaces its value;
/// SCCL_CONSTANT=? has a process print, when it ends, which ones it has read.
template <typename T> class Constant : ConstantEntry {
public:
  Constant(const char *name, T usual)
      : ConstantEntry(name), value(T(valueOr(double(usual)))) {}
  T operator()() const {
    noteRead();
    return value;
  }

private:
  const T value;
};

/// A row of a table: `about` is for documents.
#define SCCL_CONSTANT(type, name, value, about)                                \
  inline const Constant<type> name(#name, value)

/// What is wrong with SCCL_CONSTANT; else "".
std::string badConstant();

} // namespace sccl

#endif // SCCL_OPTIMIZE_CONSTANT_H
