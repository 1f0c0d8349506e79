//===- FloatOpcodes.cpp - What lanes compute with floats ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the modes that the kernels ask for: rounding to nearest, denormals kept,
// IEEE's minima and maxima. A reciprocal is rounded right, which is one of the
// results that the hardware may have; divisions do not depend on which.
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include "Emulate/Floats.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

using namespace sccl::emulate;
using namespace sccl::emulate::gcn;

namespace {
/// Halves are computed with as floats: rounding twice gives the same.
struct Half {
  using Number = float;
  static constexpr uint64_t sign = 0x8000, quiet = 0x200, infinity = 0x7c00;
  static float read(uint64_t bits) {
    return decodeHalf(llvm::APFloat::IEEEhalf(), bits);
  }
  static uint64_t write(float value) {
    return encodeHalf(llvm::APFloat::IEEEhalf(), value, 0x7e00);
  }
};

struct Single {
  using Number = float;
  static constexpr uint64_t sign = 0x80000000, quiet = 0x400000,
                            infinity = 0x7f800000;
  static constexpr unsigned fraction = 23, bias = 127;
  /// Of divisions: from which difference of exponents on the quotient may
  /// overflow, which numerators are tiny, and by which power of 2 is scaled.
  static constexpr int gap = 96, tiny = 23, power = 64;
  using Wide = double;
  static float read(uint64_t bits) {
    return std::bit_cast<float>(uint32_t(bits));
  }
  static uint64_t write(float value) { return std::bit_cast<uint32_t>(value); }
};

struct Double {
  using Number = double;
  static constexpr uint64_t sign = uint64_t(1) << 63, quiet = uint64_t(1) << 51,
                            infinity = uint64_t(0x7ff) << 52;
  static constexpr unsigned fraction = 52, bias = 1023;
  static constexpr int gap = 768, tiny = 53, power = 128;
  using Wide = long double;
  static double read(uint64_t bits) { return std::bit_cast<double>(bits); }
  static uint64_t write(double value) { return std::bit_cast<uint64_t>(value); }
};

template <typename T> uint64_t magnitude(uint64_t bits) {
  return bits & (T::sign - 1);
}
template <typename T> bool isNone(uint64_t bits) {
  return magnitude<T>(bits) > T::infinity;
}

template <typename T> void sum(Lane &l) {
  l.out = T::write(T::read(l.in[0]) + T::read(l.in[1]));
}
template <typename T> void product(Lane &l) {
  l.out = T::write(T::read(l.in[0]) * T::read(l.in[1]));
}
template <typename T> void fused(Lane &l) {
  l.out =
      T::write(std::fma(T::read(l.in[0]), T::read(l.in[1]), T::read(l.in[2])));
}

/// Of two numbers. What is no number is left out, unless it signals.
template <typename T, bool greatest> void extremeOf(Lane &l) {
  for (unsigned i = 0; i < 2; ++i)
    if (isNone<T>(l.in[i]) && !(l.in[i] & T::quiet)) {
      l.out = l.in[i] | T::quiet;
      return;
    }
  l.out = T::write(extremeNumber<typename T::Number, greatest>(
      T::read(l.in[0]), T::read(l.in[1])));
}

/// Rounds twice, and takes denormals for zeros: so none may come up.
void unfused(Lane &l) {
  float product = Single::read(l.in[0]) * Single::read(l.in[1]);
  float sum = product + Single::read(l.in[2]);
  for (float value : {Single::read(l.in[0]), Single::read(l.in[1]),
                      Single::read(l.in[2]), product, sum})
    if (std::fpclassify(value) == FP_SUBNORMAL)
      l.refusal = "a denormal number";
  l.out = Single::write(sum);
}

template <typename T>
void addOrders(AddOpcode add, const char *const (&n)[4],
               const char *signature) {
  add(n[0], signature, [](Lane &l) {
    l.flag = !isUnordered(T::read(l.in[0]), T::read(l.in[1]));
  });
  add(n[1], signature, [](Lane &l) {
    l.flag = isUnordered(T::read(l.in[0]), T::read(l.in[1]));
  });
  add(n[2], signature,
      [](Lane &l) { l.flag = T::read(l.in[0]) >= T::read(l.in[1]); });
  add(n[3], signature,
      [](Lane &l) { l.flag = T::read(l.in[0]) == T::read(l.in[1]); });
}

//===----------------------------------------------------------------------===//
// Divisions
//===----------------------------------------------------------------------===//

template <typename T> int exponentOf(uint64_t bits) {
  return int(magnitude<T>(bits) >> T::fraction);
}
template <typename T> bool isSubnormal(typename T::Number value) {
  return std::abs(value) < std::numeric_limits<typename T::Number>::min();
}

/// The quotient of in[2] and in[1] is being computed: scales one of them,
/// in[0], where the quotient or a part of it would leave the range of normal
/// numbers. With the flag the quotient is scaled back at the end.
template <typename T> void scale(Lane &l) {
  uint64_t denominator = magnitude<T>(l.in[1]);
  uint64_t numerator = magnitude<T>(l.in[2]);
  l.out = l.in[0];
  l.flag = false;
  if (numerator == 0 || denominator == 0) {
    l.out = T::infinity | T::quiet;
    return;
  }
  // fixUp() replaces what comes of these.
  if (numerator >= T::infinity || denominator >= T::infinity)
    return;
  auto scaleBy = [&](int power) {
    l.out = T::write(std::ldexp(T::read(l.in[0]), power));
  };
  auto below = T::read(l.in[1]), above = T::read(l.in[2]);
  bool isDenominator = l.in[0] == l.in[1];
  bool isSmallPart = isSubnormal<T>(1 / below);
  bool isSmall = isSubnormal<T>(above / below);
  if (exponentOf<T>(numerator) - exponentOf<T>(denominator) >= T::gap) {
    l.flag = true;
    if (isDenominator)
      scaleBy(T::power);
  } else if (isSubnormal<T>(below)) {
    scaleBy(T::power);
  } else if (isSmallPart && isSmall) {
    l.flag = true;
    if (isDenominator)
      scaleBy(T::power);
  } else if (isSmallPart) {
    scaleBy(-T::power);
  } else if (isSmall) {
    l.flag = true;
    if (l.in[0] == l.in[2])
      scaleBy(T::power);
  } else if (exponentOf<T>(numerator) <= T::tiny) {
    scaleBy(T::power);
  }
}

/// Rounds once, after it has scaled back a quotient that was scaled: in[2] says
/// in which direction.
template <typename T> void fusedAndScaled(Lane &l) {
  if (!l.flag)
    return fused<T>(l);
  auto wide = [&](unsigned i) { return typename T::Wide(T::read(l.in[i])); };
  bool isLarge = exponentOf<T>(l.in[2]) > int(T::bias);
  auto exact = std::fma(wide(0), wide(1), wide(2));
  l.out = T::write(
      typename T::Number(std::ldexp(exact, isLarge ? T::power : -T::power)));
}

/// in[0] is the quotient of in[2] and in[1], but for what is special.
template <typename T> void fixUp(Lane &l) {
  uint64_t sign = (l.in[1] ^ l.in[2]) & T::sign;
  uint64_t below = magnitude<T>(l.in[1]), above = magnitude<T>(l.in[2]);
  if (isNone<T>(l.in[2]))
    l.out = l.in[2] | T::quiet;
  else if (isNone<T>(l.in[1]))
    l.out = l.in[1] | T::quiet;
  else if (below == above && (below == 0 || below == T::infinity))
    l.out = T::sign | T::infinity | T::quiet;
  else if (below == 0 || above == T::infinity)
    l.out = sign | T::infinity;
  else if (below == T::infinity || above == 0)
    l.out = sign;
  else
    l.out = sign | magnitude<T>(l.in[0]);
}

template <typename T> void reciprocal(Lane &l) {
  l.out = T::write(1 / T::read(l.in[0]));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename To> void toInteger(Lane &l) {
  double value = Single::read(l.in[0]);
  double least = std::numeric_limits<To>::min();
  double greatest = std::numeric_limits<To>::max();
  To number = std::isnan(value)   ? To(0)
              : value <= least    ? std::numeric_limits<To>::min()
              : value >= greatest ? std::numeric_limits<To>::max()
                                  : To(value);
  l.out = std::make_unsigned_t<To>(number);
}

void addConversions(AddOpcode add) {
  add("v_cvt_f16_f32", "H=F",
      [](Lane &l) { l.out = Half::write(Single::read(l.in[0])); });
  add("v_cvt_f32_f16", "F=H",
      [](Lane &l) { l.out = Single::write(Half::read(l.in[0])); });
  add("v_cvt_f32_i32", "F=i",
      [](Lane &l) { l.out = Single::write(float(int32_t(l.in[0]))); });
  add("v_cvt_f32_u32", "F=i",
      [](Lane &l) { l.out = Single::write(float(uint32_t(l.in[0]))); });
  add("v_cvt_f32_ubyte0", "F=i",
      [](Lane &l) { l.out = Single::write(float(l.in[0] & 0xff)); });
  add("v_cvt_f32_ubyte1", "F=i",
      [](Lane &l) { l.out = Single::write(float(l.in[0] >> 8 & 0xff)); });
  add("v_cvt_f32_ubyte2", "F=i",
      [](Lane &l) { l.out = Single::write(float(l.in[0] >> 16 & 0xff)); });
  add("v_cvt_f32_ubyte3", "F=i",
      [](Lane &l) { l.out = Single::write(float(l.in[0] >> 24 & 0xff)); });
  add("v_cvt_f64_u32", "D=i",
      [](Lane &l) { l.out = Double::write(double(uint32_t(l.in[0]))); });
  add("v_cvt_i32_f32", "i=F", toInteger<int32_t>);
  add("v_cvt_u32_f32", "i=F", toInteger<uint32_t>);
  add("v_trunc_f32", "F=F", [](Lane &l) {
    l.out = Single::write(std::trunc(Single::read(l.in[0])));
  });
}

template <typename T>
void addDivision(AddOpcode add, const char *const (&names)[3],
                 const char *const (&signatures)[3]) {
  add(names[0], signatures[0], scale<T>);
  add(names[1], signatures[1], fusedAndScaled<T>);
  add(names[2], signatures[2], fixUp<T>);
}

void addPacked(AddOpcode add) {
  add("v_pk_add_f16", "p=pp", sum<Half>);
  add("v_pk_mul_f16", "p=pp", product<Half>);
  add("v_pk_min_f16", "p=pp", extremeOf<Half, false>);
  add("v_pk_max_f16", "p=pp", extremeOf<Half, true>);
  add("v_pk_add_f32", "P=PP", sum<Single>);
  add("v_pk_mul_f32", "P=PP", product<Single>);
  add("v_pk_mov_b32", "P=PP", nullptr);
}
} // namespace

void sccl::emulate::gcn::addFloatOpcodes(AddOpcode add) {
  add("v_add_f16", "H=HH", sum<Half>);
  add("v_add_f32", "F=FF", sum<Single>);
  add("v_add_f64", "D=DD", sum<Double>);
  add("v_mul_f16", "H=HH", product<Half>);
  add("v_mul_f32", "F=FF", product<Single>);
  add("v_mul_f64", "D=DD", product<Double>);
  add("v_ldexp_f64", "D=Di", [](Lane &l) {
    l.out = Double::write(std::ldexp(Double::read(l.in[0]), int(l.in[1])));
  });
  add("v_min_f16", "H=HH", extremeOf<Half, false>);
  add("v_min_f32", "F=FF", extremeOf<Single, false>);
  add("v_min_f64", "D=DD", extremeOf<Double, false>);
  add("v_max_f16", "H=HH", extremeOf<Half, true>);
  add("v_max_f32", "F=FF", extremeOf<Single, true>);
  add("v_max_f64", "D=DD", extremeOf<Double, true>);
  add("v_fma_f32", "F=FFF", fused<Single>);
  add("v_fma_f64", "D=DDD", fused<Double>);
  add("v_fmac_f32", "F=FF^", fused<Single>);
  add("v_fmac_f64", "D=DD^", fused<Double>);
  add("v_fmamk_f32", "F=FFF", fused<Single>);
  add("v_mad_f32", "F=FFF", unfused);
  add("v_mac_f32", "F=FF^", unfused);
  add("v_madmk_f32", "F=FFF", unfused);
  add("v_rcp_f32", "F=F", reciprocal<Single>);
  add("v_rcp_iflag_f32", "F=F", reciprocal<Single>);
  add("v_rcp_f64", "D=D", reciprocal<Double>);
  addOrders<Half>(
      add, {"v_cmp_o_f16", "v_cmp_u_f16", "v_cmp_ge_f16", "v_cmp_eq_f16"},
      "m=HH");
  addOrders<Single>(
      add, {"v_cmp_o_f32", "v_cmp_u_f32", "v_cmp_ge_f32", "v_cmp_eq_f32"},
      "m=FF");
  addOrders<Double>(
      add, {"v_cmp_o_f64", "v_cmp_u_f64", "v_cmp_ge_f64", "v_cmp_eq_f64"},
      "m=DD");
  addDivision<Single>(add,
                      {"v_div_scale_f32", "v_div_fmas_f32", "v_div_fixup_f32"},
                      {"Fm=FFF", "F=FFFv", "F=FFF"});
  addDivision<Double>(add,
                      {"v_div_scale_f64", "v_div_fmas_f64", "v_div_fixup_f64"},
                      {"Dm=DDD", "D=DDDv", "D=DDD"});
  addConversions(add);
  addPacked(add);
}
