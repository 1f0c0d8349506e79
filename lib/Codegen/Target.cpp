//===- Target.cpp - Chips and output kinds --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Codegen/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace sccl;

const std::vector<Target> &sccl::allTargets() {
  using enum Target::Vendor;
  static const std::vector<Target> targets = {
      {NVIDIA, "sm_70", "V100 (PTX only: ptxas 13 has dropped it)", false},
      {NVIDIA, "sm_75", "T4", true},
      {NVIDIA, "sm_80", "A100", true},
      {NVIDIA, "sm_86", "A10, A40, RTX 30", true},
      {NVIDIA, "sm_89", "L40, RTX 40", true},
      {NVIDIA, "sm_90", "H100, H200", true},
      {NVIDIA, "sm_100", "B200", true},
      {NVIDIA, "sm_103", "B300", true},
      {NVIDIA, "sm_120", "RTX 50", true},
      {AMD, "gfx906", "MI50, MI60", true},
      {AMD, "gfx908", "MI100", true},
      {AMD, "gfx90a", "MI200 series", true},
      {AMD, "gfx942", "MI300 series", true},
      {AMD, "gfx950", "MI350 series", true},
  };
  return targets;
}

Result<Target> sccl::findTarget(llvm::StringRef chip) {
  for (const Target &target : allTargets())
    if (chip == target.chip)
      return target;
  auto names = llvm::map_range(
      allTargets(), [](const Target &target) { return target.chip; });
  return Error{"unknown target '" + chip.str() +
               "', expected one of: " + llvm::join(names, " ")};
}

std::optional<OutputKind> sccl::outputKindOf(llvm::StringRef path) {
  return llvm::StringSwitch<std::optional<OutputKind>>(
             llvm::sys::path::extension(path))
      .Case(".mlir", OutputKind::MLIR)
      .Case(".ptx", OutputKind::PTX)
      .Case(".cubin", OutputKind::Cubin)
      .Case(".fatbin", OutputKind::Fatbin)
      .Case(".s", OutputKind::GCN)
      .Case(".hsaco", OutputKind::HSACO)
      .Default(std::nullopt);
}
