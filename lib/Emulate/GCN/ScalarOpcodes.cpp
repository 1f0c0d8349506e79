//===- ScalarOpcodes.cpp - What the scalar unit computes ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include <limits>

using namespace sccl::emulate::gcn;

/// The result, and whether it is anything but zero in SCC.
static void giveBits(Lane &lane, uint64_t bits) {
  lane.out = bits;
  lane.flag = bits != 0;
}

/// A sum of signed numbers, and whether it overflows in SCC.
static void giveSum(Lane &lane, int64_t sum) {
  lane.out = uint32_t(sum);
  lane.flag = sum != int32_t(sum);
}

static int64_t number(uint64_t bits) { return int32_t(bits); }

static void addArithmetic(AddOpcode add) {
  add("s_add_u32", "is=ii", [](Lane &l) {
    uint64_t sum = l.in[0] + l.in[1];
    l.out = uint32_t(sum);
    l.flag = sum >> 32;
  });
  add("s_addc_u32", "is=iis", [](Lane &l) {
    uint64_t sum = l.in[0] + l.in[1] + l.flag;
    l.out = uint32_t(sum);
    l.flag = sum >> 32;
  });
  add("s_add_i32", "is=ii",
      [](Lane &l) { giveSum(l, number(l.in[0]) + number(l.in[1])); });
  add("s_addk_i32", "is=^k",
      [](Lane &l) { giveSum(l, number(l.in[0]) + number(l.in[1])); });
  add("s_sub_i32", "is=ii",
      [](Lane &l) { giveSum(l, number(l.in[0]) - number(l.in[1])); });
  add("s_lshl2_add_u32", "is=ii", [](Lane &l) {
    uint64_t sum = (l.in[0] << 2) + l.in[1];
    l.out = uint32_t(sum);
    l.flag = sum >> 32;
  });
  add("s_mul_i32", "i=ii",
      [](Lane &l) { l.out = uint32_t(l.in[0] * l.in[1]); });
  add("s_mul_hi_u32", "i=ii", [](Lane &l) { l.out = l.in[0] * l.in[1] >> 32; });
}

static void addScalarBits(AddOpcode add) {
  add("s_and_b32", "is=ii", [](Lane &l) { giveBits(l, l.in[0] & l.in[1]); });
  add("s_and_b64", "ls=ll", [](Lane &l) { giveBits(l, l.in[0] & l.in[1]); });
  add("s_andn2_b64", "ls=ll", [](Lane &l) { giveBits(l, l.in[0] & ~l.in[1]); });
  add("s_nor_b64", "ls=ll", [](Lane &l) { giveBits(l, ~(l.in[0] | l.in[1])); });
  add("s_or_b32", "is=ii", [](Lane &l) { giveBits(l, l.in[0] | l.in[1]); });
  add("s_or_b64", "ls=ll", [](Lane &l) { giveBits(l, l.in[0] | l.in[1]); });
  add("s_orn2_b64", "ls=ll", [](Lane &l) { giveBits(l, l.in[0] | ~l.in[1]); });
  add("s_xor_b32", "is=ii", [](Lane &l) { giveBits(l, l.in[0] ^ l.in[1]); });
  add("s_xor_b64", "ls=ll", [](Lane &l) { giveBits(l, l.in[0] ^ l.in[1]); });
  add("s_lshl_b32", "is=ii",
      [](Lane &l) { giveBits(l, uint32_t(l.in[0] << (l.in[1] & 31))); });
  add("s_lshl_b64", "ls=li",
      [](Lane &l) { giveBits(l, l.in[0] << (l.in[1] & 63)); });
  add("s_lshr_b32", "is=ii",
      [](Lane &l) { giveBits(l, l.in[0] >> (l.in[1] & 31)); });
  // The offset is in the low bits of the second operand, the width in the high.
  add("s_bfe_u32", "is=ii", [](Lane &l) {
    uint64_t mask = (uint64_t(1) << (l.in[1] >> 16 & 127)) - 1;
    giveBits(l, l.in[0] >> (l.in[1] & 31) & mask);
  });
  add("s_lshr_b64", "ls=li",
      [](Lane &l) { giveBits(l, l.in[0] >> (l.in[1] & 63)); });
  add("s_ashr_i32", "is=ii", [](Lane &l) {
    giveBits(l, uint32_t(number(l.in[0]) >> (l.in[1] & 31)));
  });
  add("s_bitset1_b32", "i=^i",
      [](Lane &l) { l.out = l.in[0] | uint64_t(1) << (l.in[1] & 31); });
  add("s_brev_b32", "i=i", [](Lane &l) {
    for (unsigned bit = 0; bit < 32; ++bit)
      l.out |= (l.in[0] >> bit & 1) << (31 - bit);
  });
}

static void addComparisons(AddOpcode add) {
  add("s_cmp_eq_u32", "s=ii", [](Lane &l) { l.flag = l.in[0] == l.in[1]; });
  add("s_cmp_lg_u32", "s=ii", [](Lane &l) { l.flag = l.in[0] != l.in[1]; });
  add("s_cmp_ge_u32", "s=ii", [](Lane &l) { l.flag = l.in[0] >= l.in[1]; });
  add("s_cmp_gt_u32", "s=ii", [](Lane &l) { l.flag = l.in[0] > l.in[1]; });
  add("s_cmp_lt_u32", "s=ii", [](Lane &l) { l.flag = l.in[0] < l.in[1]; });
  add("s_cmp_gt_i32", "s=ii",
      [](Lane &l) { l.flag = number(l.in[0]) > number(l.in[1]); });
  add("s_cmp_lt_i32", "s=ii",
      [](Lane &l) { l.flag = number(l.in[0]) < number(l.in[1]); });
  // With 16 bits in the instruction.
  add("s_cmpk_lt_i32", "s=ik",
      [](Lane &l) { l.flag = number(l.in[0]) < number(l.in[1]); });
  add("s_cmpk_gt_i32", "s=ik",
      [](Lane &l) { l.flag = number(l.in[0]) > number(l.in[1]); });
  add("s_cmpk_eq_i32", "s=ik",
      [](Lane &l) { l.flag = number(l.in[0]) == number(l.in[1]); });
  add("s_cmpk_lg_i32", "s=ik",
      [](Lane &l) { l.flag = number(l.in[0]) != number(l.in[1]); });
  add("s_bitcmp0_b32", "s=ii",
      [](Lane &l) { l.flag = !(l.in[0] >> (l.in[1] & 31) & 1); });
  add("s_bitcmp1_b32", "s=ii",
      [](Lane &l) { l.flag = l.in[0] >> (l.in[1] & 31) & 1; });
  add("s_cmp_eq_u64", "s=ll", [](Lane &l) { l.flag = l.in[0] == l.in[1]; });
  add("s_cmp_lg_u64", "s=ll", [](Lane &l) { l.flag = l.in[0] != l.in[1]; });
}

void sccl::emulate::gcn::addScalarOpcodes(AddOpcode add) {
  addArithmetic(add);
  addScalarBits(add);
  addComparisons(add);
  add("s_mov_b32", "i=i", [](Lane &l) { l.out = l.in[0]; });
  add("s_mov_b64", "l=l", [](Lane &l) { l.out = l.in[0]; });
  add("s_movk_i32", "i=k", [](Lane &l) { l.out = l.in[0]; });
  add("s_cselect_b32", "i=iis", [](Lane &l) { l.out = l.in[l.flag ? 0 : 1]; });
  add("s_cselect_b64", "l=lls", [](Lane &l) { l.out = l.in[l.flag ? 0 : 1]; });
}
