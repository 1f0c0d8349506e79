//===- ElementTypeTest.cpp - Element types and reductions -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/ElementType.h"

#include "gtest/gtest.h"

using namespace sccl;

TEST(ElementType, findsNamesAndAliases) {
  for (const ElementType &type : elementTypes())
    EXPECT_STREQ(findElementType(type.name)->name, type.name);
  EXPECT_STREQ(findElementType("fp8_e4m3")->name, "f8e4m3");
  EXPECT_STREQ(findElementType("fp8_e5m2")->name, "f8e5m2");
  for (Reduction reduction : reductions())
    EXPECT_EQ(*findReduction(toString(reduction)), reduction);
}

TEST(ElementType, refusesOtherNames) {
  EXPECT_EQ(findElementType("f8").error(),
            "unknown element type 'f8', expected f16, bf16, f32, f64, i8, u8, "
            "i32, u32, i64, u64, f8e4m3 or f8e5m2");
  EXPECT_EQ(findReduction("").error(),
            "unknown reduction '', expected sum, prod, min, max or avg");
}

TEST(ElementType, floatsFillTheirBits) {
  for (const ElementType &type : elementTypes())
    if (type.isFloat()) {
      EXPECT_EQ(1 + type.exponentBits + type.mantissaBits, type.bits())
          << type.name;
    }
  EXPECT_EQ(findElementType("f8e4m3")->bias(), 7u);
  EXPECT_EQ(findElementType("bf16")->bias(), 127u);
}
