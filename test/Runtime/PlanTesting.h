//===- PlanTesting.h - A plan for tests of the container --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_PLANTESTING_H
#define SCCL_TEST_RUNTIME_PLANTESTING_H

#include "sccl/Plan/Plan.h"

#include <string>
#include <vector>

namespace sccl::plan {

/// A plan that uses every field.
inline Plan makePlan() {
  Plan plan;
  Manifest &manifest = plan.manifest;
  manifest.generator = "test";
  manifest.collective = "all_reduce";
  manifest.ranks = 2;
  manifest.combining = true;
  manifest.layout = {{1, 1, 0}, {1, 1, std::nullopt}};
  manifest.layout[1].inPlaceOffset = -3;
  manifest.conditions = {3, 5, {{4}, {2}}, {{2}, {4}}};
  manifest.topology = "pair";
  manifest.fingerprint = "0123";
  manifest.schedules = {{"a", 2, 1, 1, 2, "1"}, {"b", 4, 4, 2, 2, "1/2"}};
  ProgramEntry program;
  program.schedule = 1;
  program.variant = "push";
  program.codeShape = "table";
  program.blocks = 4;
  program.peersTouchOutput = true;
  program.announcesReady = false;
  program.steps = 2;
  program.stepsTouchPeers = true;
  program.ranks = {{2, 3, 640}, {1, 0, 1280}};
  // From the second and third chunk of rank 1's input to rank 0's scratch.
  EngineCopy copy{1, 1, 0, 1, 0, 2, 0, 1, 2};
  program.copies = {{}, {copy}};
  manifest.programs = {program};
  manifest.kernels = {
      {0, "x86-64", "elf", "f32", "sum", 1, {"a_rank0", "a_rank1"}, 1, "", 1}};
  manifest.rankTables = 2;
  manifest.tables = {
      {"model", "", "", {{0, 0, Path::Auto, 0}}},
      {"measured",
       "x86-64",
       "threads",
       {{0, 0, Path::Staging, 4096}, {77, 0, Path::Direct, 1 << 20}},
       {{8, 1500}, {99, 1400}}}};
  plan.blobs = {"", std::string(10000, 'x'), "third"};
  plan.rankTables = {{"", "of 1"}, {std::string(100, 'r'), "s"}};
  return plan;
}

inline std::vector<BlobRange> makeRanges() {
  std::string hash(64, '0');
  return {{4096, 0, hash}, {4096, 10000, hash}, {16384, 5, hash}};
}

/// The bytes of the part of a rank.
inline std::string partOf(const PlanView &view, const std::string &bytes,
                          unsigned rank) {
  return bytes.substr(view.parts[rank].offset, view.parts[rank].bytes);
}

} // namespace sccl::plan

#endif // SCCL_TEST_RUNTIME_PLANTESTING_H
