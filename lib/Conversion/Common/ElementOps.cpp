//===- ElementOps.cpp - Element types and reductions ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace sccl;
using namespace sccl::coll;

namespace {
enum class Class { Float, Signed, Unsigned };
struct ElementType {
  const char *name;
  const char *mlirType;
  unsigned bytes;
  Class kind;
};
constexpr ElementType elementTypes[] = {
    {"f32", "f32", 4, Class::Float},  {"f64", "f64", 8, Class::Float},
    {"i8", "i8", 1, Class::Signed},   {"u8", "i8", 1, Class::Unsigned},
    {"i32", "i32", 4, Class::Signed}, {"u32", "i32", 4, Class::Unsigned},
    {"i64", "i64", 8, Class::Signed}, {"u64", "i64", 8, Class::Unsigned},
};
} // namespace

static llvm::StringRef mnemonicOf(llvm::StringRef reduction, Class kind) {
  bool isFloat = kind == Class::Float;
  bool isSigned = kind == Class::Signed;
  return llvm::StringSwitch<llvm::StringRef>(reduction)
      .Case("sum", isFloat ? "arith.addf" : "arith.addi")
      .Case("prod", isFloat ? "arith.mulf" : "arith.muli")
      .Case("min", isFloat    ? "arith.minimumf"
                   : isSigned ? "arith.minsi"
                              : "arith.minui")
      .Case("max", isFloat    ? "arith.maximumf"
                   : isSigned ? "arith.maxsi"
                              : "arith.maxui")
      .Default("");
}

Result<ElementOp> coll::makeElementOp(llvm::StringRef element,
                                      llvm::StringRef reduction) {
  for (const ElementType &type : elementTypes) {
    if (element != type.name)
      continue;
    llvm::StringRef mnemonic = mnemonicOf(reduction, type.kind);
    if (mnemonic.empty())
      return Error{"unknown reduction '" + reduction.str() +
                   "', expected sum, prod, min or max"};
    return ElementOp{type.mlirType, type.bytes, mnemonic.str()};
  }
  return Error{"unknown element type '" + element.str() +
               "', expected f32, f64, i8, u8, i32, u32, i64 or u64"};
}
