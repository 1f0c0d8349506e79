//===- Chip.cpp - What sccl knows of GPU chips ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Chip.h"

#include <string>

using namespace sccl;

static constexpr Chip::Vendor nvidia = Chip::Vendor::NVIDIA;
static constexpr Chip::Vendor amd = Chip::Vendor::AMD;
using enum MemoryModel;

// clang-format off
static constexpr Chip chips[] = {
    {.name = "sm_70", .vendor = nvidia,
     .products = "V100 (PTX only: ptxas 13 has dropped it)",
     .reference = {"a V100", 80}, .memoryModel = PTX, .hasAssembler = false},
    {.name = "sm_75", .vendor = nvidia, .products = "T4",
     .reference = {"a T4", 40}, .memoryModel = PTX},
    {.name = "sm_80", .vendor = nvidia, .products = "A100",
     .reference = {"an A100", 108}, .memoryModel = PTX},
    {.name = "sm_86", .vendor = nvidia, .products = "A10, A40, RTX 30",
     .reference = {"an A10", 72}, .memoryModel = PTX},
    {.name = "sm_89", .vendor = nvidia, .products = "L40, RTX 40",
     .reference = {"an L4", 58}, .memoryModel = PTX},
    {.name = "sm_90", .vendor = nvidia, .products = "H100, H200",
     .reference = {"an H100 PCIe", 114}, .memoryModel = PTX},
    {.name = "sm_100", .vendor = nvidia, .products = "B200",
     .reference = {"a B200", 148}, .memoryModel = PTX},
    {.name = "sm_103", .vendor = nvidia, .products = "B300",
     .reference = {"a B300", 148}, .memoryModel = PTX},
    {.name = "sm_120", .vendor = nvidia, .products = "RTX 50",
     .reference = {"an RTX 5080", 84}, .memoryModel = PTX},
    {.name = "gfx906", .vendor = amd, .products = "MI50, MI60",
     .reference = {"an MI50", 60}, .memoryModel = L1Only},
    {.name = "gfx908", .vendor = amd, .products = "MI100",
     .reference = {"an MI100", 120}, .memoryModel = L1Only},
    {.name = "gfx90a", .vendor = amd, .products = "MI200 series",
     .reference = {"an MI210", 104}, .memoryModel = L2},
    {.name = "gfx942", .vendor = amd, .products = "MI300 series",
     .reference = {"an MI308X", 80}, .memoryModel = ScopeBits,
     .wantsUncached = true},
    {.name = "gfx950", .vendor = amd, .products = "MI350 series",
     .reference = {"an MI350X", 256}, .memoryModel = ScopeBits,
     .wantsUncached = true},
};
// clang-format on

std::span<const Chip> sccl::allChips() { return chips; }

Result<Chip> sccl::findChip(std::string_view name) {
  std::string names;
  for (const Chip &chip : chips) {
    if (chip.name == name)
      return chip;
    names += " " + std::string(chip.name);
  }
  return Error{"unknown target '" + std::string(name) +
               "', expected one of:" + names};
}
