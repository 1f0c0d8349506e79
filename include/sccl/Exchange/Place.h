//===- Place.h - Where in a file something is said --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_PLACE_H
#define SCCL_EXCHANGE_PLACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace sccl::exchange {

/// A line and a column, both from 1.
struct Place {
  uint32_t line = 1, column = 1;
  /// "7:3". The line alone says little of JSON, which often has but one.
  std::string str() const {
    return std::to_string(line) + ":" + std::to_string(column);
  }
};

/// What is wrong with a file, and where.
struct Finding {
  Place place;
  std::string message;
};

/// What is wrong with a file: the first mistakes, and how many more there are.
class Findings {
public:
  static constexpr size_t most = 20;

  void add(Place place, std::string message) {
    if (list.size() < most)
      list.push_back({place, std::move(message)});
    else
      ++unlisted;
  }
  /// True if no more mistakes are kept, only counted: `addToCount` will do.
  bool isFull() const { return list.size() == most; }
  void addToCount() { ++unlisted; }
  bool empty() const { return list.empty(); }
  const std::vector<Finding> &first() const { return list; }
  uint64_t more() const { return unlisted; }

private:
  std::vector<Finding> list;
  uint64_t unlisted = 0;
};

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_PLACE_H
