//===- Ways.h - The shapes that code has ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EMULATE_WAYS_H
#define SCCL_TEST_EMULATE_WAYS_H

#include "sccl/Model/Chip.h"
#include "sccl/Options/LoweringOptions.h"

#include <string>
#include <vector>

namespace sccl::test {

/// A way to lower a schedule.
struct Way {
  std::string name;
  LoweringOptions options;
  std::string target = "sm_90";
};

/// All ways whose code differs in more than numbers: unrolled, unless they are
/// called tables.
inline std::vector<Way> ways() {
  using Options = LoweringOptions;
  Options plain;
  plain.blockSize = 64;
  plain.codeShape = CodeShapeChoice::Unrolled;
  std::vector<Way> all = {{"push", plain}};
  auto add = [&](const char *name, auto change) {
    all.push_back({name, plain});
    change(all.back().options);
  };
  auto useLL = [](Options &o) {
    o.ll = o.throughScratch = o.doubleBuffer = true;
  };
  auto useTable = [](Options &o) { o.codeShape = CodeShapeChoice::Table; };
  add("push table", useTable);
  add("pull", [](Options &o) { o.transport = TransportChoice::Pull; });
  add("ll", useLL);
  add("scratch", [](Options &o) { o.throughScratch = true; });
  add("ll table", [&](Options &o) {
    useLL(o);
    useTable(o);
  });
  add("steps", [](Options &o) { o.steps = true; });
  add("eager table", [&](Options &o) {
    o.doubleBuffer = true;
    o.pieces = 2;
    useTable(o);
  });
  add("double-buffered table", [&](Options &o) {
    o.throughScratch = o.doubleBuffer = true;
    useTable(o);
  });
  add("virtual ranks", [](Options &o) { o.virtualRanks = true; });
  add("pull table", [&](Options &o) {
    o.transport = TransportChoice::Pull;
    useTable(o);
  });
  add("2 blocks", [](Options &o) { o.blocksPerLink = 2; });
  add("ll, 2 blocks, virtual ranks, table", [&](Options &o) {
    useLL(o);
    useTable(o);
    o.blocksPerLink = 2;
    o.virtualRanks = true;
  });
  add("2 pieces", [](Options &o) { o.pieces = 2; });
  return all;
}

/// The same for any chip. On those of AMD a block has two wavefronts.
inline std::vector<Way> waysFor(const std::string &target) {
  std::vector<Way> all = ways();
  for (Way &way : all) {
    way.name = target + " " + way.name;
    way.target = target;
    if (!findChip(target)->isNVIDIA())
      way.options.blockSize = 128;
  }
  return all;
}

/// All chips whose code is PTX.
inline std::vector<std::string> chipsWithPTX() {
  std::vector<std::string> names;
  for (const Chip &chip : allChips())
    if (chip.isNVIDIA())
      names.emplace_back(chip.name);
  return names;
}

} // namespace sccl::test

#endif // SCCL_TEST_EMULATE_WAYS_H
