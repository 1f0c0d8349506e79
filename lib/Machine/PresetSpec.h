//===- PresetSpec.h - Names of presets, with parameters ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_PRESETSPEC_H
#define SCCL_LIB_MACHINE_PRESETSPEC_H

#include "sccl/Model/Rational.h"
#include "sccl/Model/Result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl {

/// What a spec may have after its name.
struct PresetGrammar {
  std::string_view flags = {}; ///< besides those of all, "half,te-ccl"
  unsigned leastExtents = 0, mostExtents = 0; ///< of "4x4x4"
};

/// "h100:boxes=4,rails", taken apart.
struct PresetSpec {
  std::string whole;
  unsigned boxes = 1;
  std::optional<bool> hasRails;
  std::optional<Rational> nicGbps; ///< gigabits per second
  std::vector<std::string> flags;  ///< of the preset
  std::vector<unsigned> extents;

  bool has(std::string_view flag) const;
};

/// Reads the parameters of `spec`. Fails with the list of what there is on one
/// that `grammar` does not have, and on numbers out of range.
Result<PresetSpec> parsePresetSpec(std::string_view spec,
                                   const PresetGrammar &grammar);

} // namespace sccl

#endif // SCCL_LIB_MACHINE_PRESETSPEC_H
