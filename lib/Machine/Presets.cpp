//===- Presets.cpp - Machines that have a name ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Presets.h"

#include "PresetRows.h"

#include "sccl/Machine/Units.h"

using namespace sccl;

static const PresetRow *findRow(std::string_view spec) {
  std::string_view name = spec.substr(0, spec.find(':'));
  for (const PresetRow &row : presetRows())
    if (row.name() == name)
      return &row;
  return nullptr;
}

const std::vector<MachinePreset> &sccl::machinePresets() {
  static const std::vector<MachinePreset> list = [] {
    std::vector<MachinePreset> result;
    for (const PresetRow &row : presetRows())
      result.push_back(row.listed);
    return result;
  }();
  return list;
}

bool sccl::isMachinePreset(std::string_view spec) { return findRow(spec); }

/// What the spec says of the network, over what the machine usually has.
static std::optional<Error> adapt(NetworkPlan &network,
                                  const PresetSpec &spec) {
  if (spec.hasRails)
    network.hasRails = *spec.hasRails;
  if (spec.nicGbps) {
    network.perNic = *quotient(*spec.nicGbps, 8);
    network.source = "nic-gbps=" + decimalText(*spec.nicGbps);
  }
  if (spec.boxes > 1 && network.perNic == Rational(0))
    return Error{"machine '" + spec.whole +
                 "': no usual NIC is known; give nic-gbps=X"};
  return std::nullopt;
}

Result<Machine> sccl::makeMachinePreset(std::string_view text) {
  const PresetRow *row = findRow(text);
  if (!row) {
    std::string known;
    for (const PresetRow &other : presetRows())
      known += (known.empty() ? "" : ", ") + std::string(other.listed.spec);
    return Error{"unknown machine '" + std::string(text) +
                 "'; known: " + known};
  }
  Result<PresetSpec> spec = parsePresetSpec(text, row->grammar);
  if (!spec)
    return Error{spec.error()};
  if (row->finish && spec->boxes > 1)
    return Error{"machine '" + spec->whole + "' has no NICs; one box only"};
  MachinePlan plan = row->plan(*spec);
  if (std::optional<Error> error = adapt(plan.network, *spec))
    return *error;
  Result<Machine> machine =
      buildBoxes(spec->whole, spec->boxes, plan.box, plan.network);
  if (machine && row->finish)
    if (std::optional<Error> error = row->finish(*machine, *spec))
      return *error;
  return machine;
}

Result<Topology> sccl::makeNamedTopology(std::string_view spec) {
  if (!isMachinePreset(spec)) {
    Result<Topology> topology = makeBuiltinTopology(spec);
    if (topology || topology.error().find("unknown topology") != 0)
      return topology;
    return Error{topology.error() + "; or a machine of `sccl machine`"};
  }
  Result<Machine> machine = makeMachinePreset(spec);
  if (!machine)
    return Error{machine.error()};
  Result<Derivation> derivation = deriveTopology(*machine);
  if (!derivation)
    return Error{derivation.error()};
  return std::move(derivation->topology);
}
