//===- Multimem.cpp - Accesses through a switch ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PTXCode.h"

#include "Emulate/Floats.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

using namespace sccl::emulate;
using llvm::APFloat;
using llvm::StringRef;

using Kind = SwitchReduction::Kind;
using Number = SwitchReduction::Number;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// Reduces numbers of one type. Floats are computed with as doubles, and
/// rounded to what partial sums have.
class Reducer {
public:
  Reducer(const SwitchReduction &what, const Summation &how, unsigned bytes)
      : what(what), how(how), bytes(bytes) {}

  uint64_t reduce(llvm::SmallVector<uint64_t, 8> values) const {
    if (isFloat()) {
      llvm::SmallVector<double, 8> numbers;
      for (uint64_t value : values)
        numbers.push_back(decode(value));
      return encode(inOrder<double>(
          numbers, [this](double a, double b) { return combineFloats(a, b); }));
    }
    return inOrder<uint64_t>(values, [this](uint64_t a, uint64_t b) {
      return combineIntegers(a, b);
    });
  }

private:
  bool isFloat() const { return what.number >= Number::F16; }

  /// Neighbours in a random order, as a tree or one after the other.
  template <typename T>
  T inOrder(llvm::SmallVector<T, 8> values,
            llvm::function_ref<T(T, T)> combine) const {
    std::mt19937_64 random(how.seed);
    std::shuffle(values.begin(), values.end(), random);
    if (!how.isTree)
      return std::accumulate(values.begin() + 1, values.end(), values.front(),
                             combine);
    for (size_t left = values.size(); left > 1; left = (left + 1) / 2)
      for (size_t i = 0; i < left; i += 2)
        values[i / 2] =
            i + 1 < left ? combine(values[i], values[i + 1]) : values[i];
    return values.front();
  }

  uint64_t combineIntegers(uint64_t a, uint64_t b) const {
    bool isLess = a < b;
    if (what.number == Number::Signed)
      isLess = bytes == 4 ? int32_t(a) < int32_t(b) : int64_t(a) < int64_t(b);
    switch (what.kind) {
    case Kind::Add:
      return bytes == 4 ? uint32_t(a + b) : a + b;
    case Kind::Min:
      return isLess ? a : b;
    case Kind::Max:
      return isLess ? b : a;
    case Kind::And:
      return a & b;
    case Kind::Or:
      return a | b;
    case Kind::Xor:
      return a ^ b;
    }
    return 0;
  }

  double combineFloats(double a, double b) const {
    if (what.kind == Kind::Add)
      return roundPartial(a + b);
    if (!how.takesNumbers && isUnordered(a, b))
      return std::numeric_limits<double>::quiet_NaN();
    return what.kind == Kind::Max ? extremeNumber<double, true>(a, b)
                                  : extremeNumber<double, false>(a, b);
  }

  double roundPartial(double sum) const {
    if (how.isWide || bytes == 8)
      return sum;
    return what.isWide ? double(float(sum)) : decode(encode(sum));
  }

  const llvm::fltSemantics &half() const {
    return what.number == Number::F16 ? APFloat::IEEEhalf() : APFloat::BFloat();
  }
  double decode(uint64_t bits) const {
    if (bytes == 2)
      return decodeHalf(half(), bits);
    return bytes == 4 ? double(std::bit_cast<float>(uint32_t(bits)))
                      : std::bit_cast<double>(bits);
  }
  uint64_t encode(double number) const {
    if (bytes == 2)
      return encodeHalf(half(), float(number), 0x7fff);
    if (bytes == 8)
      return std::bit_cast<uint64_t>(number);
    return std::isnan(number) ? 0x7fffffff
                              : std::bit_cast<uint32_t>(float(number));
  }

  const SwitchReduction &what;
  const Summation &how;
  unsigned bytes; ///< of a number
};
} // namespace

uint64_t SwitchReduction::operator()(llvm::ArrayRef<uint64_t> values,
                                     const Summation &how) const {
  llvm::SmallVector<uint64_t, 8> low(values.begin(), values.end());
  if (!isPair)
    return Reducer(*this, how, bytes).reduce(std::move(low));
  llvm::SmallVector<uint64_t, 8> high;
  for (uint64_t &value : low) {
    high.push_back(value >> 16);
    value &= 0xffff;
  }
  Reducer reducer(*this, how, 2);
  return reducer.reduce(std::move(high)) << 16 | reducer.reduce(std::move(low));
}

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

/// Reads ".f16x2"; false if multimem has no such type.
static bool decodeNumber(SwitchReduction &reduction, StringRef type) {
  reduction.bytes = llvm::StringSwitch<uint8_t>(type)
                        .Cases({"f16", "bf16"}, 2)
                        .Cases({"b32", "u32", "s32"}, 4)
                        .Cases({"f32", "f16x2", "bf16x2"}, 4)
                        .Cases({"b64", "u64", "s64", "f64"}, 8)
                        .Default(0);
  reduction.isPair = type.consume_back("x2");
  reduction.number = llvm::StringSwitch<Number>(type)
                         .Cases({"u32", "u64"}, Number::Unsigned)
                         .Cases({"s32", "s64"}, Number::Signed)
                         .Case("f16", Number::F16)
                         .Case("bf16", Number::BF16)
                         .Cases({"f32", "f64"}, Number::Float)
                         .Default(Number::Bits);
  return reduction.bytes != 0;
}

/// Whether there is such a reduction.
static bool isKnown(const SwitchReduction &reduction) {
  bool isHalf =
      reduction.number == Number::F16 || reduction.number == Number::BF16;
  if (reduction.isWide && (reduction.kind != Kind::Add || !isHalf))
    return false;
  if (reduction.number == Number::Bits)
    return reduction.kind >= Kind::And;
  if (reduction.kind == Kind::Add)
    return reduction.number != Number::Signed || reduction.bytes == 4;
  return reduction.kind <= Kind::Max && reduction.number != Number::Float;
}

/// Vectors are of floats, and as long as an instruction can be.
static bool isVector(const SwitchReduction &reduction, unsigned elements) {
  unsigned bytes = elements * reduction.bytes;
  if (elements == 1)
    return reduction.bytes != 2;
  return reduction.number >= Number::F16 && reduction.bytes != 8 &&
         (bytes == 4 || bytes == 8 || bytes == 16);
}

static std::optional<Kind> kindOf(StringRef name) {
  return llvm::StringSwitch<std::optional<Kind>>(name)
      .Case("add", Kind::Add)
      .Case("min", Kind::Min)
      .Case("max", Kind::Max)
      .Case("and", Kind::And)
      .Case("or", Kind::Or)
      .Case("xor", Kind::Xor)
      .Default(std::nullopt);
}

unsigned sccl::emulate::decodeMultimem(Op &op, StringRef opcode) {
  llvm::SmallVector<StringRef> parts;
  opcode.split(parts, '.');
  if (parts.size() < 3)
    return 0;
  SwitchReduction &reduction = op.reduction;
  StringRef verb = parts[1];
  if (!decodeNumber(reduction, parts.back()))
    return 0;
  op.form = llvm::StringSwitch<Form>(verb)
                .Case("ld_reduce", Form::SwitchLoad)
                .Case("st", Form::SwitchStore)
                .Default(Form::SwitchChange);
  if (op.form == Form::SwitchChange && verb != "red")
    return 0;
  op.bytes = reduction.bytes;
  unsigned elements = 1;
  bool isScoped = false, isReduced = false;
  for (StringRef part : llvm::ArrayRef(parts).drop_front(2).drop_back()) {
    if (part == "relaxed")
      op.order = Order::Relaxed;
    else if (part == "acquire" && op.form == Form::SwitchLoad)
      op.order = Order::Acquire;
    else if (part == "release" && op.form != Form::SwitchLoad)
      op.order = Order::Release;
    else if (part == "v2" || part == "v4" || part == "v8")
      elements = part[1] - '0';
    else if (part == "acc::f32" && op.form == Form::SwitchLoad)
      reduction.isWide = true;
    else if (std::optional<Kind> kind = kindOf(part)) {
      reduction.kind = *kind;
      isReduced = true;
    } else if (decodeScope(op, part))
      isScoped = true;
    else if (part != "global" && part != "weak")
      return 0;
  }
  bool isKnownOp = isScoped == (op.order != Order::Weak) &&
                   isReduced == (op.form != Form::SwitchStore) &&
                   (!isReduced || isKnown(reduction)) &&
                   (op.form != Form::SwitchChange || op.order != Order::Weak) &&
                   isVector(reduction, elements);
  return isKnownOp ? elements : 0;
}
