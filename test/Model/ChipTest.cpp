//===- ChipTest.cpp - Chips -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Chip.h"

#include "gtest/gtest.h"

#include <set>
#include <string>

using namespace sccl;

TEST(Chip, TheTableIsComplete) {
  std::set<std::string_view> names;
  for (const Chip &chip : allChips()) {
    SCOPED_TRACE(std::string(chip.name));
    EXPECT_TRUE(names.insert(chip.name).second);
    EXPECT_EQ(chip.name.starts_with("sm_"), chip.isNVIDIA());
    EXPECT_EQ(chip.memoryModel == MemoryModel::PTX, chip.isNVIDIA());
    EXPECT_FALSE(chip.products.empty());
    EXPECT_GT(chip.reference.multiprocessors, 0u);
    EXPECT_EQ(findChip(chip.name)->name, chip.name);
  }
}

TEST(Chip, UnknownNamesGetTheList) {
  std::string error = findChip("sm_91").error();
  EXPECT_EQ(error.find("unknown target 'sm_91', expected one of: sm_70 sm_75"),
            0u)
      << error;
  EXPECT_FALSE(findChip(""));
}
