//===- IntegerOpcodes.cpp - What lanes compute with integers --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include <algorithm>
#include <type_traits>

using namespace sccl::emulate::gcn;

namespace {
/// Bits of 16, 32 or 64 as a number, and back.
template <typename T> T read(uint64_t bits) { return T(bits); }
template <typename T> uint64_t write(T number) {
  return uint64_t(std::make_unsigned_t<T>(number));
}

int64_t signed24(uint64_t bits) { return int32_t(uint32_t(bits) << 8) >> 8; }

template <typename T> void shiftLeft(Lane &l) {
  l.out = write<T>(T(read<T>(l.in[1]) << (l.in[0] % (8 * sizeof(T)))));
}
template <typename T> void shiftRight(Lane &l) {
  l.out = write<T>(T(read<T>(l.in[1]) >> (l.in[0] % (8 * sizeof(T)))));
}
template <typename T> void least(Lane &l) {
  l.out = write<T>(std::min(read<T>(l.in[0]), read<T>(l.in[1])));
}
template <typename T> void greatest(Lane &l) {
  l.out = write<T>(std::max(read<T>(l.in[0]), read<T>(l.in[1])));
}
template <typename T> void leastOfThree(Lane &l) {
  least<T>(l);
  l.out = write<T>(std::min(read<T>(l.out), read<T>(l.in[2])));
}
template <typename T> void greatestOfThree(Lane &l) {
  greatest<T>(l);
  l.out = write<T>(std::max(read<T>(l.out), read<T>(l.in[2])));
}

/// Bytes of two registers in any order, their signs, or constants.
void permute(Lane &l) {
  uint64_t bytes = l.in[0] << 32 | l.in[1];
  for (unsigned i = 0; i < 4; ++i) {
    unsigned which = l.in[2] >> (8 * i) & 0xff;
    uint64_t byte = which >= 13   ? 0xff
                    : which == 12 ? 0
                    : which >= 8
                        ? (bytes >> (16 * (which - 8) + 15) & 1 ? 0xff : 0)
                        : bytes >> (8 * which) & 0xff;
    l.out |= byte << (8 * i);
  }
}

template <typename T>
void addComparisons(AddOpcode add, const char *const (&names)[6],
                    const char *signature) {
  add(names[0], signature,
      [](Lane &l) { l.flag = read<T>(l.in[0]) == read<T>(l.in[1]); });
  add(names[1], signature,
      [](Lane &l) { l.flag = read<T>(l.in[0]) != read<T>(l.in[1]); });
  add(names[2], signature,
      [](Lane &l) { l.flag = read<T>(l.in[0]) < read<T>(l.in[1]); });
  add(names[3], signature,
      [](Lane &l) { l.flag = read<T>(l.in[0]) <= read<T>(l.in[1]); });
  add(names[4], signature,
      [](Lane &l) { l.flag = read<T>(l.in[0]) > read<T>(l.in[1]); });
  add(names[5], signature,
      [](Lane &l) { l.flag = read<T>(l.in[0]) >= read<T>(l.in[1]); });
}

#define COMPARISONS(type)                                                      \
  {                                                                            \
    "v_cmp_eq_" type, "v_cmp_ne_" type, "v_cmp_lt_" type, "v_cmp_le_" type,    \
        "v_cmp_gt_" type, "v_cmp_ge_" type                                     \
  }

void addAllComparisons(AddOpcode add) {
  addComparisons<uint16_t>(add, COMPARISONS("u16"), "m=hh");
  addComparisons<int16_t>(add, COMPARISONS("i16"), "m=hh");
  addComparisons<uint32_t>(add, COMPARISONS("u32"), "m=ii");
  addComparisons<int32_t>(add, COMPARISONS("i32"), "m=ii");
  addComparisons<uint64_t>(add, COMPARISONS("u64"), "m=ll");
  addComparisons<int64_t>(add, COMPARISONS("i64"), "m=ll");
}
#undef COMPARISONS

void addSums(AddOpcode add) {
  add("v_add_u16", "h=hh", [](Lane &l) { l.out = l.in[0] + l.in[1]; });
  add("v_add_u32", "i=ii", [](Lane &l) { l.out = l.in[0] + l.in[1]; });
  add("v_sub_u32", "i=ii", [](Lane &l) { l.out = l.in[0] - l.in[1]; });
  add("v_add3_u32", "i=iii",
      [](Lane &l) { l.out = l.in[0] + l.in[1] + l.in[2]; });
  add("v_lshl_add_u32", "i=iii",
      [](Lane &l) { l.out = (l.in[0] << (l.in[1] & 31)) + l.in[2]; });
  add("v_add_lshl_u32", "i=iii",
      [](Lane &l) { l.out = (l.in[0] + l.in[1]) << (l.in[2] & 31); });
  add("v_lshl_add_u64", "l=lil",
      [](Lane &l) { l.out = (l.in[0] << (l.in[1] & 7)) + l.in[2]; });
  // With a carry, that of the lane.
  add("v_add_co_u32", "im=ii", [](Lane &l) {
    l.out = l.in[0] + l.in[1];
    l.flag = l.out >> 32;
  });
  add("v_addc_co_u32", "im=iim", [](Lane &l) {
    l.out = l.in[0] + l.in[1] + l.flag;
    l.flag = l.out >> 32;
  });
  add("v_sub_co_u32", "im=ii", [](Lane &l) {
    l.out = l.in[0] - l.in[1];
    l.flag = l.in[0] < l.in[1];
  });
  add("v_subb_co_u32", "im=iim", [](Lane &l) {
    bool borrow = l.in[0] < l.in[1] + l.flag;
    l.out = l.in[0] - l.in[1] - l.flag;
    l.flag = borrow;
  });
  add("v_subbrev_co_u32", "im=iim", [](Lane &l) {
    bool borrow = l.in[1] < l.in[0] + l.flag;
    l.out = l.in[1] - l.in[0] - l.flag;
    l.flag = borrow;
  });
}

void addProducts(AddOpcode add) {
  add("v_mul_lo_u16", "h=hh", [](Lane &l) { l.out = l.in[0] * l.in[1]; });
  add("v_mul_lo_u32", "i=ii", [](Lane &l) { l.out = l.in[0] * l.in[1]; });
  add("v_mul_hi_u32", "i=ii", [](Lane &l) { l.out = l.in[0] * l.in[1] >> 32; });
  add("v_mul_u32_u24", "i=ii",
      [](Lane &l) { l.out = (l.in[0] & 0xffffff) * (l.in[1] & 0xffffff); });
  add("v_mad_u32_u24", "i=iii", [](Lane &l) {
    l.out = (l.in[0] & 0xffffff) * (l.in[1] & 0xffffff) + l.in[2];
  });
  add("v_mul_i32_i24", "i=ii",
      [](Lane &l) { l.out = uint64_t(signed24(l.in[0]) * signed24(l.in[1])); });
  add("v_mad_i32_i24", "i=iii", [](Lane &l) {
    l.out = uint64_t(signed24(l.in[0]) * signed24(l.in[1])) + l.in[2];
  });
  add("v_mad_u64_u32", "lm=iil", [](Lane &l) {
    uint64_t product = l.in[0] * l.in[1];
    l.out = product + l.in[2];
    l.flag = l.out < product;
  });
  // The flag is the sign of the sum, of 65 bits.
  add("v_mad_i64_i32", "lm=iil", [](Lane &l) {
    int64_t product = int64_t(int32_t(l.in[0])) * int64_t(int32_t(l.in[1]));
    auto summand = int64_t(l.in[2]);
    int64_t sum = 0;
    bool overflows = __builtin_add_overflow(product, summand, &sum);
    l.out = uint64_t(sum);
    l.flag = (sum < 0) != overflows;
  });
}

void addBits(AddOpcode add) {
  add("v_and_b32", "i=ii", [](Lane &l) { l.out = l.in[0] & l.in[1]; });
  add("v_or_b32", "i=ii", [](Lane &l) { l.out = l.in[0] | l.in[1]; });
  add("v_xor_b32", "i=ii", [](Lane &l) { l.out = l.in[0] ^ l.in[1]; });
  add("v_or3_b32", "i=iii",
      [](Lane &l) { l.out = l.in[0] | l.in[1] | l.in[2]; });
  add("v_and_or_b32", "i=iii",
      [](Lane &l) { l.out = (l.in[0] & l.in[1]) | l.in[2]; });
  add("v_bfi_b32", "i=iii",
      [](Lane &l) { l.out = (l.in[0] & l.in[1]) | (~l.in[0] & l.in[2]); });
  add("v_lshl_or_b32", "i=iii",
      [](Lane &l) { l.out = l.in[0] << (l.in[1] & 31) | l.in[2]; });
  add("v_bfe_u32", "i=iii", [](Lane &l) {
    uint64_t mask = (uint64_t(1) << (l.in[2] & 31)) - 1;
    l.out = l.in[0] >> (l.in[1] & 31) & mask;
  });
  add("v_bfe_i32", "i=iii", [](Lane &l) {
    unsigned width = l.in[2] & 31;
    uint64_t mask = (uint64_t(1) << width) - 1;
    uint64_t field = uint64_t(int64_t(int32_t(l.in[0])) >> (l.in[1] & 31));
    bool isNegative = width > 0 && (field >> (width - 1) & 1);
    l.out = (field & mask) | (isNegative ? ~mask : 0);
  });
  add("v_alignbit_b32", "i=iii",
      [](Lane &l) { l.out = (l.in[0] << 32 | l.in[1]) >> (l.in[2] & 31); });
  add("v_perm_b32", "i=iii", permute);
  add("v_pack_b32_f16", "i=HH",
      [](Lane &l) { l.out = l.in[1] << 16 | l.in[0]; });
  add("v_lshlrev_b16", "h=hh", shiftLeft<uint16_t>);
  add("v_lshrrev_b16", "h=hh", shiftRight<uint16_t>);
  add("v_ashrrev_i16", "h=hh", shiftRight<int16_t>);
  add("v_lshlrev_b32", "i=ii", shiftLeft<uint32_t>);
  add("v_lshrrev_b32", "i=ii", shiftRight<uint32_t>);
  add("v_ashrrev_i32", "i=ii", shiftRight<int32_t>);
  add("v_ashrrev_i64", "l=il", shiftRight<int64_t>);
  add("v_lshlrev_b64", "l=il", shiftLeft<uint64_t>);
  add("v_lshrrev_b64", "l=il", shiftRight<uint64_t>);
}

void addExtremes(AddOpcode add) {
  add("v_min_u16", "h=hh", least<uint16_t>);
  add("v_min_i16", "h=hh", least<int16_t>);
  add("v_min_u32", "i=ii", least<uint32_t>);
  add("v_min_i32", "i=ii", least<int32_t>);
  add("v_max_u16", "h=hh", greatest<uint16_t>);
  add("v_max_i16", "h=hh", greatest<int16_t>);
  add("v_max_u32", "i=ii", greatest<uint32_t>);
  add("v_max_i32", "i=ii", greatest<int32_t>);
  add("v_min3_u16", "h=hhh", leastOfThree<uint16_t>);
  add("v_min3_i16", "h=hhh", leastOfThree<int16_t>);
  add("v_min3_u32", "i=iii", leastOfThree<uint32_t>);
  add("v_min3_i32", "i=iii", leastOfThree<int32_t>);
  add("v_max3_u16", "h=hhh", greatestOfThree<uint16_t>);
  add("v_max3_i16", "h=hhh", greatestOfThree<int16_t>);
  add("v_max3_u32", "i=iii", greatestOfThree<uint32_t>);
  add("v_max3_i32", "i=iii", greatestOfThree<int32_t>);
}
} // namespace

void sccl::emulate::gcn::addIntegerOpcodes(AddOpcode add) {
  auto move = [](Lane &l) { l.out = l.in[0]; };
  add("v_mov_b32", "i=i", move);
  add("v_mov_b64", "l=l", move);
  add("v_accvgpr_read_b32", "i=i", move);
  add("v_accvgpr_write_b32", "i=i", move);
  // With signs changed as those of floats.
  add("v_cndmask_b32", "F=FFm", [](Lane &l) { l.out = l.in[l.flag ? 1 : 0]; });
  addSums(add);
  addProducts(add);
  addBits(add);
  addExtremes(add);
  addAllComparisons(add);
}
