//===- HostCombine.cpp - Combining on the host ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCombine.h"

using namespace sccl;
using namespace sccl::coll;

/// A loop over elements, which LLVM turns into vectors.
static std::string combineLoop(const ElementOp &op, llvm::StringRef name,
                               bool divides) {
  std::string body, line;
  unsigned next = 0;
  auto define = [&](const std::string &operation) {
    std::string result = "%v" + std::to_string(next++);
    body += "      " + result + " = " + operation + "\n";
    return result;
  };
  CombineWriter writer(op, /*lanes=*/0, define);
  std::string type = op.type();
  std::string text = "  llvm.func internal @" + name.str() +
                     "(%dst: PTR, %lhs: PTR, %rhs: PTR, %bytes: i64" +
                     (divides ? ", %divisor: i32" : "") +
                     ") attributes {no_inline} {\n"
                     "    %zero = arith.constant 0 : i64\n"
                     "    %width = arith.constant " +
                     std::to_string(op.element.bytes) + " : i64\n";
  std::string divisor = divides ? writer.divisor("%divisor") : "";
  text += std::move(body);
  body.clear();
  auto at = [&](const char *base) {
    return define(std::string("llvm.getelementptr ") + base +
                  "[%at] : (PTR, i64) -> PTR, i8");
  };
  auto load = [&](const char *base) {
    return define("llvm.load " + at(base) + " : PTR -> " + type);
  };
  std::string lhs = load("%lhs"), rhs = load("%rhs");
  std::string result = writer.combine(lhs, rhs, divisor);
  std::string to = at("%dst");
  return text + "    scf.for %at = %zero to %bytes step %width : i64 {\n" +
         body + "      llvm.store " + result + ", " + to + " : " + type +
         ", PTR\n    }\n    llvm.return\n  }\n";
}

std::string coll::hostCombineText(const ElementOp &op) {
  std::string text = combineLoop(op, "coll_combine", /*divides=*/false);
  if (op.averages())
    text += combineLoop(op, "coll_average", /*divides=*/true);
  return text;
}
