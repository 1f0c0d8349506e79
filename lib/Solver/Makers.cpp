//===- Makers.cpp - The list of all makers of schedules -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <cstdlib>

using namespace sccl;

static constexpr std::string_view names[] = {
#define SCCL_MAKER(name, stage, collectives, how) #name,
#include "sccl/Solver/Makers.def"
};

/// The maker to leave out; "" for none.
static std::string_view without() {
  static const char *const name = std::getenv("SCCL_WITHOUT_MAKER");
  return name ? name : "";
}

std::string_view sccl::unknownMaker() {
  return std::ranges::count(names, without()) ? "" : without();
}

bool sccl::isAsked(std::string_view maker) { return maker != without(); }

bool sccl::isAsked(Maker maker) { return isAsked(names[size_t(maker)]); }
