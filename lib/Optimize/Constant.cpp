//===- Constant.cpp - Numbers that steer searches -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Optimize/Constant.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace sccl;

/// SCCL_CONSTANT; "" if it is not given.
static std::string_view given() {
  static const char *const text = std::getenv("SCCL_CONSTANT");
  return text ? text : "";
}

static std::string_view givenName() {
  return given().substr(0, given().find('='));
}

/// The number that is given; NaN if there is none.
static double givenValue() {
  std::string_view name = givenName();
  if (name.size() == given().size())
    return NAN;
  const char *text = name.data() + name.size() + 1;
  char *end;
  double value = std::strtod(text, &end);
  bool isNumber = end != text && !*end && std::isfinite(value) && value >= 0;
  return isNumber ? value : NAN;
}

namespace {
/// All constants of this process.
struct Registry {
  std::vector<const ConstantEntry *> entries;
  ~Registry() {
    if (given() == "?")
      for (const ConstantEntry *entry : entries)
        if (entry->isRead())
          std::fprintf(stderr, "constant: %s\n", entry->name);
  }
};
} // namespace

static Registry &registry() {
  static Registry registry;
  return registry;
}

ConstantEntry::ConstantEntry(const char *name) : name(name) {
  registry().entries.push_back(this);
}

double ConstantEntry::valueOr(double usual) const {
  double other = givenName() == name ? givenValue() : NAN;
  return std::isnan(other) ? usual : other;
}

std::string sccl::badConstant() {
  if (given().empty() || given() == "?")
    return "";
  bool isKnown = std::ranges::any_of(registry().entries, [](const auto *entry) {
    return givenName() == entry->name;
  });
  if (!isKnown)
    return "there is no constant '" + std::string(givenName()) +
           "', docs/Makers.md lists them";
  return std::isnan(givenValue())
             ? "expected NAME=VALUE, got '" + std::string(given()) + "'"
             : "";
}
