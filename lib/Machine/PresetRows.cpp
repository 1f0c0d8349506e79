//===- PresetRows.cpp - What machines with a name are made of -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each machine. Rates are those of one link in one direction, as
// data sheets have them: what protocols leave of it is for measurements to say.
//
//===----------------------------------------------------------------------===//

#include "PresetRows.h"

using namespace sccl;

//===----------------------------------------------------------------------===//
// NVIDIA
//===----------------------------------------------------------------------===//

static PresetLink nvlink(unsigned generation) {
  std::string source = "NVLink " + std::to_string(generation) + ": ";
  switch (generation) {
  case 2:
  case 3:
  case 4:
    return {"NVLink" + std::to_string(generation), 25,
            source + "25 GB/s a link and direction"};
  default:
    return {"NVLink" + std::to_string(generation), 50,
            source + "50 GB/s a link and direction"};
  }
}

/// The double and the single cycle of a DGX-1, in three numberings.
static std::vector<LinkPair> cubeMesh(const PresetSpec &spec) {
  if (spec.has("msccl-tools"))
    return {{0, 1, 2}, {0, 4, 2}, {1, 3, 2}, {2, 3, 2}, {2, 6, 2}, {4, 5, 2},
            {5, 7, 2}, {6, 7, 2}, {0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 5, 1},
            {3, 7, 1}, {4, 6, 1}, {4, 7, 1}, {5, 6, 1}};
  if (spec.has("nvidia-smi"))
    return {{0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 5, 2}, {2, 3, 2}, {4, 7, 2},
            {5, 6, 2}, {6, 7, 2}, {0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 6, 1},
            {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {5, 7, 1}};
  return {{0, 1, 2}, {1, 4, 2}, {4, 5, 2}, {5, 6, 2}, {6, 7, 2}, {2, 7, 2},
          {2, 3, 2}, {0, 3, 2}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {3, 6, 1},
          {4, 6, 1}, {4, 7, 1}, {5, 7, 1}, {0, 5, 1}};
}

static MachinePlan dgx1(const PresetSpec &spec) {
  return {{8, "sm_70", nvlink(2), cubeMesh(spec)},
          {Rational(25, 2), "IB", "100 Gb/s", 2, {}, NicUse::All, true}};
}

static MachinePlan ndv2(const PresetSpec &spec) {
  PresetSpec numbered = spec;
  numbered.flags = {"msccl-tools"};
  return {{8, "sm_70", nvlink(2), cubeMesh(numbered)},
          {Rational(25, 2),
           "IB",
           "100 Gb/s, behind GPUs 0 and 1",
           2,
           {0},
           NicUse::OddToEven,
           true}};
}

static MachinePlan dgx2(const PresetSpec &spec) {
  MachinePlan plan = onSwitches(16, "sm_70", nvlink(2), 6, 1, false, 0);
  plan.network = {Rational(25, 2), "IB", "100 Gb/s, one for two GPUs", 2, {},
                  NicUse::All,     true};
  if (!spec.has("te-ccl"))
    return plan;
  plan.box.switches = 5; // 125 GB/s in all
  plan.box.link.source = "TE-CCL's model: 125 GB/s in and out of a GPU";
  plan.network.use = NicUse::OddToEven;
  return plan;
}

static MachinePlan a100(const PresetSpec &) {
  return onSwitches(8, "sm_80", nvlink(3), 6, 2, false, 25);
}

static MachinePlan a800(const PresetSpec &) {
  MachinePlan plan = onSwitches(8, "sm_80",
                                {"NVLink3", Rational(45, 2),
                                 "SyCCL's model: 180 GB/s in and out of a GPU"},
                                1, 8, false, 25);
  plan.network.gpusPerNic = 2;
  plan.network.hasRails = false;
  return plan;
}

static MachinePlan h100(const PresetSpec &) {
  MachinePlan plan = onSwitches(8, "sm_90", nvlink(4), 1, 18, true, 50);
  return plan;
}

static MachinePlan h800(const PresetSpec &) {
  return onSwitches(8, "sm_90", nvlink(4), 1, 8, true, 50);
}

/// Cards without links between them.
static MachinePlan fourV100Cards(const PresetSpec &) { return {{4, "sm_70"}}; }

static MachinePlan eightA100Cards(const PresetSpec &) { return {{8, "sm_80"}}; }

static MachinePlan optcclDgx(const PresetSpec &spec) {
  if (spec.has("pcie"))
    return eightA100Cards(spec);
  return onSwitches(8, "sm_80", {"NVLink3", 25, "OptCCL: 50 GB/s a switch"}, 6,
                    2, false, 0);
}

static MachinePlan optcclDoe(const PresetSpec &spec) {
  if (spec.has("pcie"))
    return {{4, "sm_80"}};
  return fullyJoined(4, "sm_80", {"NVLink3", 25, "OptCCL: 100 GB/s a pair"}, 4,
                     0);
}

static MachinePlan b200(const PresetSpec &) {
  return onSwitches(8, "sm_100", nvlink(5), 2, 9, true, 50);
}

static MachinePlan b300(const PresetSpec &) {
  return onSwitches(8, "sm_103", nvlink(5), 2, 9, true, 100);
}

static MachinePlan nvl72(const PresetSpec &) {
  return onSwitches(72, "sm_100", nvlink(5), 18, 1, true, 50);
}

//===----------------------------------------------------------------------===//
// AMD
//===----------------------------------------------------------------------===//

static MachinePlan z52(const PresetSpec &) {
  return {{8,
           "gfx906",
           {"xGMI2", 33, "RCCL's model 22"},
           {{0, 1, 1},
            {0, 6, 1},
            {1, 2, 1},
            {2, 6, 1},
            {3, 5, 1},
            {3, 7, 1},
            {4, 5, 1},
            {4, 7, 1}}}};
}

static MachinePlan z52Ring(const PresetSpec &) {
  return torus("gfx906",
               {"xGMI2", 27, "SCCL, section 5.1.2: as fast as its PCIe links"},
               {8}, {1});
}

static MachinePlan mi100(const PresetSpec &) {
  return fullyJoined(4, "gfx908", {"xGMI2", 46, "23 GT/s, ROCm's MI100 page"},
                     1, 25);
}

static PresetLink xgmi50() {
  return {"xGMI3", 50, "50 GB/s a link and direction"};
}

static MachinePlan mi200Cube(const PresetSpec &) {
  return {{8,
           "gfx90a",
           xgmi50(),
           {{0, 1, 1},
            {0, 2, 1},
            {0, 6, 1},
            {1, 3, 1},
            {1, 5, 1},
            {2, 3, 1},
            {2, 4, 1},
            {3, 7, 1},
            {4, 5, 1},
            {4, 6, 1},
            {5, 7, 1},
            {6, 7, 1}}}};
}

static MachinePlan mi250x(const PresetSpec &) {
  return {{8,
           "gfx90a",
           xgmi50(),
           {{0, 1, 4},
            {0, 4, 2},
            {0, 6, 1},
            {1, 3, 1},
            {1, 7, 1},
            {2, 3, 4},
            {2, 4, 1},
            {2, 6, 2},
            {3, 5, 1},
            {4, 5, 4},
            {5, 7, 1},
            {6, 7, 4}}},
          {25,
           "Slingshot",
           "200 Gb/s, one for two dies",
           2,
           {},
           NicUse::All,
           true}};
}

static MachinePlan mi250(const PresetSpec &spec) {
  MachinePlan plan = {
      {16,
       "gfx90a",
       xgmi50(),
       {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},
        {1, 10, 1},  {2, 3, 4},   {2, 6, 2},   {2, 9, 1},   {2, 10, 1},
        {3, 7, 2},   {3, 11, 1},  {4, 5, 4},   {4, 6, 1},   {5, 6, 1},
        {5, 7, 1},   {6, 7, 4},   {8, 9, 4},   {8, 12, 2},  {9, 13, 1},
        {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1},
        {13, 14, 1}, {13, 15, 1}, {14, 15, 4}}},
      {16, "IB", "ForestColl: 16 GB/s a die", 1, {}, NicUse::All, false}};
  if (spec.has("half")) {
    plan.box.numGpus = 8;
    std::erase_if(plan.box.pairs,
                  [](const LinkPair &pair) { return pair.b >= 8; });
  }
  if (spec.has("te-ccl"))
    plan.network = {25,   "IB", "TE-CCL: 25 GB/s, one for two dies",
                    2,    {},   NicUse::All,
                    false};
  return plan;
}

static MachinePlan mi300x(const PresetSpec &) {
  return fullyJoined(8, "gfx942", {"xGMI4", 64, "64 GB/s a link and direction"},
                     1, 50);
}

static MachinePlan mi355x(const PresetSpec &) {
  return fullyJoined(
      8, "gfx950",
      {"xGMI4", Rational(153, 2), "76.5 GB/s a link and direction"}, 1, 50);
}

static MachinePlan mi300a(const PresetSpec &) {
  return fullyJoined(4, "gfx942", {"xGMI4", 64, "64 GB/s a link and direction"},
                     2, 25);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

static MachinePlan tpu(const PresetSpec &spec) {
  return torus("TPU", {"ICI", 100, "100 GB/s a link and direction"},
               spec.extents, std::vector<unsigned>(spec.extents.size(), 1));
}

static PresetLink neuronLink() {
  return {"NeuronLink3", 64, "64 GB/s a lane and direction"};
}

static MachinePlan trn1(const PresetSpec &) {
  return torus("Trainium", {"NeuronLink2", 48, "assumed: 384 GB/s in 8 parts"},
               {4, 4}, {1, 1});
}

static MachinePlan trn2(const PresetSpec &) {
  return torus("Trainium2", neuronLink(), {4, 4}, {2, 2});
}

static MachinePlan trn2Ultra(const PresetSpec &) {
  return torus("Trainium2", neuronLink(), {4, 4, 4}, {2, 2, 1});
}

static MachinePlan grid(const PresetSpec &spec) {
  return torus("", {"link", 50, "an example"}, spec.extents,
               std::vector<unsigned>(spec.extents.size(), 1));
}

static constexpr PresetRow table[] = {
    {{"dgx1-v100",
      "8 V100 in a hybrid cube mesh of NVLink 2; flags for other "
      "numberings: nvidia-smi, msccl-tools",
      "SCCL, section 5.1.1"},
     dgx1,
     {"nvidia-smi,msccl-tools"}},
    {{"ndv2",
      "Azure NDv2: the same, GPU 1 sends to and GPU 0 receives from "
      "the one NIC",
      "TE-CCL, TACCL"},
     ndv2},
    {{"dgx2",
      "16 V100 on 6 NVSwitches, a NIC for 2 GPUs; te-ccl: that "
      "paper's model",
      "NVIDIA's data sheet; TE-CCL"},
     dgx2,
     {"te-ccl"}},
    {{"a100", "8 A100 on 6 NVSwitches, a 200 Gb/s NIC per GPU",
      "NVIDIA's data sheet; ForestColl"},
     a100},
    {{"a800", "8 A800 with 180 GB/s of NVLink, a 200 Gb/s NIC for 2 GPUs",
      "SyCCL's model"},
     a800},
    {{"h100", "8 H100 on NVSwitches, a 400 Gb/s NIC per GPU",
      "NVIDIA's data sheet"},
     h100},
    {{"h200", "8 H200, linked like H100", "NVIDIA's data sheet"}, h100},
    {{"h800", "8 H800 with 200 GB/s of NVLink, a 400 Gb/s NIC per GPU",
      "SyCCL's model; NVIDIA's data sheet: 8 links"},
     h800},
    {{"h800-slots",
      "the same with the x16 slots of GPUs, and the host's memory behind them; "
      "for --every-wire",
      "FlexLink: NVLink 200, PCIe 64, NIC 50 GB/s"},
     h800,
     {},
     addH800Slots},
    {{"v100-pcie", "4 V100 cards behind one PCIe switch",
      "a box measured by a user; PCI-SIG: 8 GT/s, 16 lanes, 128b/130b"},
     fourV100Cards,
     {},
     addPcieTree},
    {{"a100-pcie",
      "8 A100 cards on 4 PCIe switches, of which two share an uplink each",
      "OptCCL's model of a DGX A100"},
     eightA100Cards,
     {},
     addPcieTree},
    {{"optccl-a100",
      "8 A100, to compare; pcie: by slots and memories only; both: by slots, "
      "too (for --every-wire)",
      "OptCCL's model of a DGX A100"},
     optcclDgx,
     {"pcie,both"},
     addOptcclDgx},
    {{"optccl-doe",
      "4 A100 of a node of Perlmutter, to compare; pcie, both: likewise",
      "OptCCL's model"},
     optcclDoe,
     {"pcie,both"},
     addOptcclDoe},
    {{"b200", "8 B200 on NVSwitches, a 400 Gb/s NIC per GPU",
      "NVIDIA's data sheet"},
     b200},
    {{"b300", "8 B300, linked like B200, an 800 Gb/s NIC per GPU",
      "NVIDIA's data sheet"},
     b300},
    {{"gb200-nvl72", "72 B200 of a rack, a link to each of 18 NVSwitches",
      "NVIDIA Mission Control: 9 trays of 2 chips"},
     nvl72},
    {{"z52-mi50", "8 MI50 in two xGMI rings of 4, which meet over PCIe",
      "RCCL's model 22"},
     z52,
     {},
     addZ52Host},
    {{"z52-mi50-ring", "the same as one ring of 8", "SCCL, section 5.1.2"},
     z52Ring},
    {{"mi100", "4 MI100, every two linked", "ROCm's MI100 page"}, mi100},
    {{"mi200-cube", "8 dies of MI200, 3 links each", "RCCL's models 52 and 58"},
     mi200Cube},
    {{"mi250x", "8 dies of 4 MI250X in a node, a 200 Gb/s NIC for 2 dies",
      "RCCL's model 66"},
     mi250x},
    {{"mi250",
      "16 dies of 8 MI250; half: dies 0 to 7 only; te-ccl: a NIC for "
      "2 dies",
      "ForestColl; TE-CCL"},
     mi250,
     {"half,te-ccl"}},
    {{"mi300x", "8 MI300X, every two linked, a 400 Gb/s NIC per GPU",
      "AMD's data sheet; RCCL's model 79"},
     mi300x},
    {{"mi325x", "8 MI325X, linked like MI300X", "AMD's data sheet"}, mi300x},
    {{"mi355x", "8 MI355X, every two linked, a 400 Gb/s NIC per GPU",
      "AMD's data sheet"},
     mi355x},
    {{"mi300a", "4 MI300A, 2 links between every two", "RCCL's model 80"},
     mi300a},
    {{"tpu-v5p:AxBxC", "a torus of TPU v5p, 6 links each",
      "Google's documentation"},
     tpu,
     {"", 2, 3}},
    {{"tpu7x:AxBxC", "a torus of TPU7x, 6 links each",
      "Google's documentation"},
     tpu,
     {"", 2, 3}},
    {{"trn1", "16 Trainium in a 4x4 torus", "AWS Neuron's documentation"},
     trn1},
    {{"trn2", "16 Trainium2 in a 4x4 torus", "AWS Neuron's documentation"},
     trn2},
    {{"trn2-ultra", "64 Trainium2: four 4x4 tori, joined in rings",
      "AWS Neuron's documentation"},
     trn2Ultra},
    {{"torus50:AxB[xC]",
      "a torus with 50 GB/s a link, to compare with "
      "other tools",
      "benchmarks of ForestColl"},
     grid,
     {"", 2, 3}},
};

std::span<const PresetRow> sccl::presetRows() { return table; }
