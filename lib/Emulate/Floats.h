//===- Floats.h - Floats of 16 bits, minima and maxima ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_FLOATS_H
#define SCCL_LIB_EMULATE_FLOATS_H

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace sccl::emulate {

/// Bits of 16 as a number: half or bfloat, exactly.
inline float decodeHalf(const llvm::fltSemantics &semantics, uint64_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits & 0xffff));
  bool isInexact;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven,
                &isInexact);
  return value.convertToFloat();
}

/// The nearest number of 16 bits; what is no number becomes `none`.
inline uint64_t encodeHalf(const llvm::fltSemantics &semantics, float number,
                           uint64_t none) {
  if (std::isnan(number))
    return none;
  llvm::APFloat value(number);
  bool isInexact;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return value.bitcastToAPInt().getZExtValue();
}

template <typename T> bool isUnordered(T a, T b) {
  return std::isnan(a) || std::isnan(b);
}

/// The least or greatest; -0 is less than 0.
template <typename T, bool greatest> T extreme(T a, T b) {
  if (a == b)
    return std::signbit(a) != greatest ? a : b;
  return (a < b) != greatest ? a : b;
}

/// Without numbers that are none, unless both are.
template <typename T, bool greatest> T extremeNumber(T a, T b) {
  if (isUnordered(a, b))
    return std::isnan(a) ? b : a;
  return extreme<T, greatest>(a, b);
}

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_FLOATS_H
