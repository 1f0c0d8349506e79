//===- Opcodes.cpp - What PTX instructions compute ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include "Emulate/Floats.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

using namespace sccl;
using namespace sccl::emulate;
using llvm::APFloat;

namespace {
using Table = llvm::StringMap<Opcode>;

//===----------------------------------------------------------------------===//
// Numbers in registers
//===----------------------------------------------------------------------===//

/// Floats of 16 bits, which are computed with as floats of 32: rounding twice
/// gives the same, as 24 bits are at least twice 11, and two more.
struct F16 {
  float value;
  static const llvm::fltSemantics &semantics() { return APFloat::IEEEhalf(); }
};
struct BF16 {
  float value;
  static const llvm::fltSemantics &semantics() { return APFloat::BFloat(); }
};

template <typename T>
constexpr bool isHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

template <typename T> T read(uint64_t bits) {
  if constexpr (isHalf<T>)
    return {decodeHalf(T::semantics(), bits)};
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(uint32_t(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (std::is_same_v<T, bool>)
    return bits & 1;
  else
    return T(bits);
}

template <typename T> uint64_t write(T value) {
  if constexpr (isHalf<T>)
    return encodeHalf(T::semantics(), value.value, 0x7fff);
  else if constexpr (std::is_same_v<T, float>)
    return std::isnan(value) ? 0x7fffffff : std::bit_cast<uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(value);
  else if constexpr (std::is_signed_v<T>)
    return uint64_t(int64_t(value));
  else
    return uint64_t(value);
}

template <typename T> auto plain(T value) {
  if constexpr (isHalf<T>)
    return value.value;
  else
    return value;
}

//===----------------------------------------------------------------------===//
// Functions of one to three numbers of a type
//===----------------------------------------------------------------------===//

template <typename To, typename From, auto function>
uint64_t one(const uint64_t *in) {
  return write<To>(function(read<From>(in[0])));
}
template <typename To, typename From, auto function>
uint64_t two(const uint64_t *in) {
  return write<To>(function(read<From>(in[0]), read<From>(in[1])));
}
template <typename To, typename From, auto function>
uint64_t three(const uint64_t *in) {
  return write<To>(
      function(read<From>(in[0]), read<From>(in[1]), read<From>(in[2])));
}

template <typename T> T quotient(T a, T b) {
  if (b == 0)
    return T(-1);
  if (std::is_signed_v<T> && b == T(-1))
    return T(0 - a);
  return T(a / b);
}

/// Shifts by as much as the width or more give what is left then.
template <typename T> uint64_t shiftLeft(const uint64_t *in) {
  return uint32_t(in[1]) < 8 * sizeof(T)
             ? write<T>(T(read<T>(in[0]) << uint32_t(in[1])))
             : 0;
}
template <typename T> uint64_t shiftRight(const uint64_t *in) {
  uint32_t by = std::min<uint32_t>(in[1], 8 * sizeof(T) - 1);
  if (!std::is_signed_v<T> && by != uint32_t(in[1]))
    return 0;
  return write<T>(T(read<T>(in[0]) >> by));
}

template <typename T> uint64_t extractField(const uint64_t *in) {
  constexpr unsigned width = 8 * sizeof(T);
  unsigned at = in[1] & 0xff, length = in[2] & 0xff;
  if (at >= width || length == 0)
    return 0;
  T value = T(read<T>(in[0]) >> at);
  return length >= width ? value : value & T((T(1) << length) - 1);
}

/// Bytes of two registers in any order, or their signs.
uint64_t permute(const uint64_t *in) {
  uint64_t bytes = uint64_t(uint32_t(in[1])) << 32 | uint32_t(in[0]);
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned which = in[2] >> (4 * i) & 0xf;
    uint8_t byte = bytes >> (8 * (which & 7));
    if (which & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << (8 * i);
  }
  return result;
}

/// The high half of two registers, the second one first, shifted left.
uint64_t funnelLeft(const uint64_t *in) {
  uint64_t both = uint64_t(uint32_t(in[1])) << 32 | uint32_t(in[0]);
  return both << (in[2] & 31) >> 32;
}

template <typename T> uint64_t select(const uint64_t *in) {
  return write<T>(read<T>(in[2] & 1 ? in[0] : in[1]));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void add(Table &table, const std::string &name, unsigned operands,
         uint64_t (*evaluate)(const uint64_t *)) {
  table[name] = {evaluate, operands};
}

template <typename T>
void addComparisons(Table &table, const std::string &type) {
  add(table, "setp.lt." + type, 2,
      two<bool, T, [](T a, T b) { return plain(a) < plain(b); }>);
  add(table, "setp.le." + type, 2,
      two<bool, T, [](T a, T b) { return plain(a) <= plain(b); }>);
  add(table, "setp.gt." + type, 2,
      two<bool, T, [](T a, T b) { return plain(b) < plain(a); }>);
  add(table, "setp.ge." + type, 2,
      two<bool, T, [](T a, T b) { return plain(a) >= plain(b); }>);
}

template <typename T> void addEquality(Table &table, const std::string &type) {
  add(table, "setp.eq." + type, 2,
      two<bool, T, [](T a, T b) { return plain(a) == plain(b); }>);
  add(table, "setp.ne." + type, 2,
      two<bool, T, [](T a, T b) { return plain(a) != plain(b); }>);
}

/// Arithmetic that is done without signs, and wraps.
template <typename T>
void addArithmetic(Table &table, const std::string &type) {
  using U = std::make_unsigned_t<T>;
  add(table, "add." + type, 2,
      two<T, T, [](T a, T b) { return T(U(a) + U(b)); }>);
  add(table, "sub." + type, 2,
      two<T, T, [](T a, T b) { return T(U(a) - U(b)); }>);
  add(table, "neg." + type, 1, one<T, T, [](T a) { return T(U(0) - U(a)); }>);
  add(table, "mul.lo." + type, 2,
      two<T, T, [](T a, T b) { return T(uint64_t(a) * uint64_t(b)); }>);
  add(table, "mad.lo." + type, 3, three<T, T, [](T a, T b, T c) {
        return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
      }>);
  add(table, "div." + type, 2, two<T, T, quotient<T>>);
  add(table, "min." + type, 2,
      two<T, T, [](T a, T b) { return std::min(a, b); }>);
  add(table, "max." + type, 2,
      two<T, T, [](T a, T b) { return std::max(a, b); }>);
  add(table, "shr." + type, 2, shiftRight<T>);
}

template <typename T> void addBits(Table &table, const std::string &type) {
  add(table, "and." + type, 2, two<T, T, [](T a, T b) { return T(a & b); }>);
  add(table, "or." + type, 2, two<T, T, [](T a, T b) { return T(a | b); }>);
  add(table, "xor." + type, 2, two<T, T, [](T a, T b) { return T(a ^ b); }>);
  add(table, "mov." + type, 1, one<T, T, [](T a) { return a; }>);
}

template <typename T>
void addIntegers(Table &table, const std::string &number) {
  using U = std::make_unsigned_t<T>;
  addArithmetic<T>(table, "s" + number);
  addArithmetic<U>(table, "u" + number);
  addBits<U>(table, "b" + number);
  addComparisons<T>(table, "s" + number);
  addComparisons<U>(table, "u" + number);
  addEquality<U>(table, "b" + number);
  add(table, "shl.b" + number, 2, shiftLeft<U>);
  add(table, "selp.b" + number, 3, select<U>);
}

template <typename T, bool greatest> T extremeOrNone(T a, T b) {
  if (isUnordered(a, b))
    return std::numeric_limits<T>::quiet_NaN();
  return extreme<T, greatest>(a, b);
}

/// What is no number is equal to nothing.
template <typename T>
void addFloatComparisons(Table &table, const std::string &type) {
  addComparisons<T>(table, type);
  add(table, "setp.eq." + type, 2,
      two<bool, T, [](T a, T b) { return plain(a) == plain(b); }>);
  add(table, "setp.nan." + type, 2,
      two<bool, T, [](T a, T b) { return isUnordered(plain(a), plain(b)); }>);
}

template <typename T> void addFloats(Table &table, const std::string &type) {
  addFloatComparisons<T>(table, type);
  add(table, "add.rn." + type, 2, two<T, T, [](T a, T b) { return a + b; }>);
  add(table, "mul.rn." + type, 2, two<T, T, [](T a, T b) { return a * b; }>);
  add(table, "div.rn." + type, 2, two<T, T, [](T a, T b) { return a / b; }>);
  add(table, "min." + type, 2, two<T, T, extremeNumber<T, false>>);
  add(table, "max." + type, 2, two<T, T, extremeNumber<T, true>>);
  add(table, "selp." + type, 3, [](const uint64_t *in) {
    return in[2] & 1 ? in[0] : in[1]; // as they are
  });
  add(table, "copysign." + type, 2, [](const uint64_t *in) {
    constexpr uint64_t sign = uint64_t(1) << (8 * sizeof(T) - 1);
    return (in[0] & sign) | (in[1] & (sign - 1));
  });
}

/// Does to both halves of a register what `function` does to one, which has
/// `bits` bits.
template <uint64_t (*function)(const uint64_t *), unsigned bits = 16>
uint64_t twice(const uint64_t *in) {
  uint64_t high[] = {in[0] >> bits, in[1] >> bits};
  return function(high) << bits | (function(in) & ((uint64_t(1) << bits) - 1));
}

/// Rounded once: a float could not hold what is added to a product.
template <typename T> uint64_t fuse(const uint64_t *in) {
  APFloat value(T::semantics(), llvm::APInt(16, in[0] & 0xffff));
  value.fusedMultiplyAdd(
      APFloat(T::semantics(), llvm::APInt(16, in[1] & 0xffff)),
      APFloat(T::semantics(), llvm::APInt(16, in[2] & 0xffff)),
      APFloat::rmNearestTiesToEven);
  return value.isNaN() ? 0x7fff : value.bitcastToAPInt().getZExtValue();
}

uint64_t fuseBoth(const uint64_t *in) {
  uint64_t high[] = {in[0] >> 16, in[1] >> 16, in[2] >> 16};
  return fuse<BF16>(high) << 16 | fuse<BF16>(in);
}

template <typename T> void addHalves(Table &table, const std::string &type) {
  addFloatComparisons<T>(table, type);
  constexpr auto sum = two<T, T, [](T a, T b) { return T{a.value + b.value}; }>;
  constexpr auto product =
      two<T, T, [](T a, T b) { return T{a.value * b.value}; }>;
  constexpr auto least = two<T, T, [](T a, T b) {
    return T{extremeOrNone<float, false>(a.value, b.value)};
  }>;
  constexpr auto greatest = two<T, T, [](T a, T b) {
    return T{extremeOrNone<float, true>(a.value, b.value)};
  }>;
  add(table, "add.rn." + type, 2, sum);
  add(table, "mul.rn." + type, 2, product);
  add(table, "min.NaN." + type, 2, least);
  add(table, "max.NaN." + type, 2, greatest);
  add(table, "add.rn." + type + "x2", 2, twice<sum>);
  add(table, "mul.rn." + type + "x2", 2, twice<product>);
  add(table, "min.NaN." + type + "x2", 2, twice<least>);
  add(table, "max.NaN." + type + "x2", 2, twice<greatest>);
  add(table, "cvt.f32." + type, 1, one<float, T, [](T a) { return a.value; }>);
  add(table, "add.rn.f32." + type, 2, [](const uint64_t *in) {
    return write<float>(read<T>(in[0]).value + read<float>(in[1]));
  });
  add(table, "cvt.rn." + type + ".f32", 1,
      one<T, float, [](float a) { return T{a}; }>);
  // The first operand becomes the high half.
  add(table, "cvt.rn." + type + "x2.f32", 2, [](const uint64_t *in) {
    return write<T>(T{read<float>(in[0])}) << 16 |
           write<T>(T{read<float>(in[1])});
  });
}

/// What chips before sm_90 or after it have in place of others.
void addFloatsOfChips(Table &table) {
  constexpr auto sum =
      two<float, float, [](float a, float b) { return a + b; }>;
  constexpr auto product =
      two<float, float, [](float a, float b) { return a * b; }>;
  add(table, "add.rn.f32x2", 2, twice<sum, 32>);
  add(table, "mul.rn.f32x2", 2, twice<product, 32>);
  add(table, "abs.f32", 1,
      one<float, float, [](float a) { return std::fabs(a); }>);
  add(table, "fma.rn.bf16", 3, fuse<BF16>);
  add(table, "fma.rn.bf16x2", 3, fuseBoth);
}

template <typename To, typename From>
void addConversion(Table &table, const std::string &to,
                   const std::string &from) {
  add(table, "cvt." + to + "." + from, 1,
      one<To, From, [](From a) { return To(a); }>);
}

template <typename From>
void addConversions(Table &table, const std::string &from) {
  addConversion<int8_t, From>(table, "s8", from);
  addConversion<uint8_t, From>(table, "u8", from);
  addConversion<int16_t, From>(table, "s16", from);
  addConversion<uint16_t, From>(table, "u16", from);
  addConversion<int32_t, From>(table, "s32", from);
  addConversion<uint32_t, From>(table, "u32", from);
  addConversion<int64_t, From>(table, "s64", from);
  addConversion<uint64_t, From>(table, "u64", from);
}

void addPredicates(Table &table) {
  add(table, "and.pred", 2,
      two<bool, bool, [](bool a, bool b) { return a && b; }>);
  add(table, "or.pred", 2,
      two<bool, bool, [](bool a, bool b) { return a || b; }>);
  add(table, "xor.pred", 2,
      two<bool, bool, [](bool a, bool b) { return a != b; }>);
  add(table, "not.pred", 1, one<bool, bool, [](bool a) { return !a; }>);
  add(table, "mov.pred", 1, one<bool, bool, [](bool a) { return a; }>);
}

Table makeTable() {
  Table table;
  addIntegers<int16_t>(table, "16");
  addIntegers<int32_t>(table, "32");
  addIntegers<int64_t>(table, "64");
  addPredicates(table);
  add(table, "mov.u32", 1,
      one<uint32_t, uint32_t, [](uint32_t a) { return a; }>);
  add(table, "mul.wide.u32", 2, [](const uint64_t *in) {
    return (in[0] & 0xffffffff) * (in[1] & 0xffffffff);
  });
  add(table, "mul.hi.u32", 2, [](const uint64_t *in) {
    return uint64_t(uint32_t(in[0])) * uint32_t(in[1]) >> 32;
  });
  add(table, "mul.hi.u64", 2, [](const uint64_t *in) {
    return uint64_t((unsigned __int128)in[0] * in[1] >> 64);
  });
  add(table, "bfe.u32", 3, extractField<uint32_t>);
  add(table, "bfe.u64", 3, extractField<uint64_t>);
  add(table, "prmt.b32", 3, permute);
  add(table, "shf.l.wrap.b32", 3, funnelLeft);
  addConversions<int8_t>(table, "s8");
  addConversions<uint8_t>(table, "u8");
  addConversions<int16_t>(table, "s16");
  addConversions<uint16_t>(table, "u16");
  addConversions<int32_t>(table, "s32");
  addConversions<uint32_t>(table, "u32");
  addConversions<int64_t>(table, "s64");
  addConversions<uint64_t>(table, "u64");
  add(table, "cvt.rn.f32.u32", 1,
      one<float, uint32_t, [](uint32_t a) { return float(a); }>);
  add(table, "cvt.rn.f64.u32", 1,
      one<double, uint32_t, [](uint32_t a) { return double(a); }>);
  addFloats<float>(table, "f32");
  addFloats<double>(table, "f64");
  add(table, "min.NaN.f32", 2, two<float, float, extremeOrNone<float, false>>);
  add(table, "max.NaN.f32", 2, two<float, float, extremeOrNone<float, true>>);
  addHalves<F16>(table, "f16");
  addHalves<BF16>(table, "bf16");
  addFloatsOfChips(table);
  return table;
}

const Table &table() {
  static const Table made = makeTable();
  return made;
}
} // namespace

const Opcode *emulate::findOpcode(llvm::StringRef name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<std::string> emulate::knownOpcodes() {
  std::vector<std::string> names;
  for (const auto &entry : table())
    names.push_back(entry.first().str());
  std::sort(names.begin(), names.end());
  return names;
}
