//===- MachineFuzz.cpp - Files of machines, of every format -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Import/Import.h"

using namespace sccl;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ImportFile file{"input",
                  std::string(reinterpret_cast<const char *>(data), size)};
  ImportOptions options;
  Result<std::vector<Reading>> readings = readFiles({file}, options);
  if (!readings) {
    demand(!readings.error().empty(), "a refusal says why");
    return 0;
  }
  options.nicGbps = Rational(400);
  options.boxes = 2;
  (void)assembleMachine(std::move(*readings), options);
  return 0;
}
