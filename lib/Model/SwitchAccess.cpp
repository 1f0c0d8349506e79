//===- SwitchAccess.cpp - What switches can do for GPUs -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/SwitchAccess.h"

#include <charconv>

using namespace sccl;

bool sccl::hasSwitchAccess(const Chip &chip) {
  constexpr std::string_view prefix = "sm_";
  constexpr unsigned first = 90;
  unsigned number = 0;
  if (!chip.isNVIDIA() || !chip.name.starts_with(prefix))
    return false;
  std::string_view digits = chip.name.substr(prefix.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number >= first;
}

bool sccl::switchReduces(Element element, Reduction reduction) {
  const ElementType &type = elementType(element);
  if (type.bytes == 1)
    return false;
  switch (reduction) {
  case Reduction::Sum:
    return true;
  case Reduction::Min:
  case Reduction::Max:
    return !type.isFloat() || type.bytes == 2;
  case Reduction::Prod:
  case Reduction::Avg:
    return false;
  }
  return false;
}
