//===- fake-plan.cpp - From plans for the host to plans for fakes ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: fake-plan IN.sccl OUT.sccl cuda|hip [messages]
//
// With "messages" a plan for ranks that exchange messages gets code for GPUs.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

#include <cstdio>
#include <fstream>
#include <iterator>

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5)
    return 1;
  std::ifstream in(argv[1], std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  bool isCUDA = std::string(argv[3]) == "cuda";
  std::string changed =
      argc == 5 ? fake::withMessageCode(bytes, isCUDA)
                : fake::asGPUPlan(bytes, isCUDA, /*isVirtual=*/true);
  if (changed.empty()) {
    std::fprintf(stderr, "fake-plan: error: %s is no plan\n", argv[1]);
    return 1;
  }
  std::ofstream(argv[2], std::ios::binary) << changed;
  return 0;
}
