//===- Presets.h - Machines that have a name --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_PRESETS_H
#define SCCL_MACHINE_PRESETS_H

#include "sccl/Machine/Derivation.h"

namespace sccl {

/// One entry of the list of presets, for `sccl machine`.
struct MachinePreset {
  std::string_view spec;        ///< "h100", or a pattern: "tpu-v5p:AxBxC"
  std::string_view description; ///< one line
  std::string_view source;      ///< of its numbers, one line
};

/// All presets, in the order `sccl machine` lists them.
const std::vector<MachinePreset> &machinePresets();

/// True if `spec` begins with the name of a preset.
bool isMachinePreset(std::string_view spec);

/// Builds the machine that `spec` names: "h100", "h100:boxes=4,rails",
/// "tpu-v5p:4x4x4", ... Its name is the spec. Parameters of all presets, joined
/// by commas:
///   boxes=N       so many boxes, joined by a NIC per GPU (or as described)
///   rails, core   NIC i of every box on a switch of its own (the default), or
///                 all NICs on one switch that does not block
///   nic-gbps=X    gigabits per second of each NIC, instead of the usual
/// Fails on an unknown name or parameter, or one out of range.
Result<Machine> makeMachinePreset(std::string_view spec);

/// The topology of a built-in name or of a preset, whichever `spec` is.
Result<Topology> makeNamedTopology(std::string_view spec);

} // namespace sccl

#endif // SCCL_MACHINE_PRESETS_H
