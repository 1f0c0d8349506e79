//===- PresetRows.h - What machines with a name are made of -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_PRESETROWS_H
#define SCCL_LIB_MACHINE_PRESETROWS_H

#include "PresetBuilder.h"
#include "PresetSpec.h"

#include "sccl/Machine/Presets.h"

#include <span>

namespace sccl {

/// A preset, and who makes the plan of it.
struct PresetRow {
  MachinePreset listed;
  MachinePlan (*plan)(const PresetSpec &);
  PresetGrammar grammar = {};
  /// Adds what a plan cannot say.
  std::optional<Error> (*finish)(Machine &, const PresetSpec &) = nullptr;

  std::string_view name() const {
    return listed.spec.substr(0, listed.spec.find(':'));
  }
};

std::span<const PresetRow> presetRows();

// Boxes whose cards meet over PCIe or in the memory of the host, which no plan
// of switches and pairs describes (HostPresets.cpp).
std::optional<Error> addZ52Host(Machine &machine, const PresetSpec &spec);
std::optional<Error> addPcieTree(Machine &machine, const PresetSpec &spec);
std::optional<Error> addH800Slots(Machine &machine, const PresetSpec &spec);
std::optional<Error> addOptcclDgx(Machine &machine, const PresetSpec &spec);
std::optional<Error> addOptcclDoe(Machine &machine, const PresetSpec &spec);

} // namespace sccl

#endif // SCCL_LIB_MACHINE_PRESETROWS_H
