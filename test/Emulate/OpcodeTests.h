//===- OpcodeTests.h - Which opcodes have tests of their own ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EMULATE_OPCODETESTS_H
#define SCCL_TEST_EMULATE_OPCODETESTS_H

#include <set>
#include <string>

namespace sccl::test {

/// Those in opcodes.txt, and those of memory and control that OpcodesTest.cpp
/// executes.
const std::set<std::string> &testedOpcodes();
/// Those in gcn-opcodes.txt, without their encodings.
const std::set<std::string> &testedGCNOpcodes();

} // namespace sccl::test

#endif // SCCL_TEST_EMULATE_OPCODETESTS_H
