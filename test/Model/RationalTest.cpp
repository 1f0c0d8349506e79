//===- RationalTest.cpp - Tests of exact fractions ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Costs are compared as fractions, where a rounded comparison would rank two
// schedules wrongly.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Rational.h"

#include <gtest/gtest.h>

#include <limits>

using namespace sccl;

TEST(Rational, LowestTerms) {
  Rational half(6, 12);
  EXPECT_EQ(half.numerator(), 1);
  EXPECT_EQ(half.denominator(), 2);
  EXPECT_EQ(half, Rational(1, 2));
}

TEST(Rational, SignMovesToTheNumerator) {
  Rational r(3, -6);
  EXPECT_EQ(r.numerator(), -1);
  EXPECT_EQ(r.denominator(), 2);
  EXPECT_EQ(Rational(-3, -6), Rational(1, 2));
}

TEST(Rational, ZeroHasOneForm) {
  EXPECT_EQ(Rational(0, 7), Rational());
  EXPECT_EQ(Rational(0, 7).denominator(), 1);
  EXPECT_EQ(Rational(0, -7).denominator(), 1);
}

TEST(Rational, Order) {
  EXPECT_LT(Rational(7, 6), Rational(6, 5));
  EXPECT_GT(Rational(3), Rational(5, 2));
  EXPECT_LT(Rational(-1, 2), Rational(-1, 3));
  EXPECT_LE(Rational(2, 4), Rational(1, 2));
}

TEST(Rational, OrderIsExactWhereDoubleIsNot) {
  // The cross products need more than 64 bits.
  constexpr int64_t big = std::numeric_limits<int64_t>::max();
  Rational a(big, big - 1), b(big - 1, big - 2);
  EXPECT_EQ(a.toDouble(), b.toDouble());
  EXPECT_LT(a, b);
  EXPECT_NE(a, b);
}

TEST(Rational, Text) {
  EXPECT_EQ(Rational(3, 2).str(), "3/2");
  EXPECT_EQ(Rational(4, 2).str(), "2");
  EXPECT_EQ(Rational(-1, 3).str(), "-1/3");
  EXPECT_EQ(Rational(0).str(), "0");
}

TEST(Rational, ToDouble) { EXPECT_DOUBLE_EQ(Rational(7, 4).toDouble(), 1.75); }
