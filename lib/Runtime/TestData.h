//===- TestData.h - Recognizable data and its comparison --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element is a function of the segment it belongs to, its index there,
// the launch and, in combining collectives, the rank that contributes it.
// Copies are compared bit for bit; reductions use small integers, which all
// element types add exactly.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_TESTDATA_H
#define SCCL_LIB_RUNTIME_TESTDATA_H

#include "sccl/Model/Collective.h"

#include <cstdint>
#include <string>

namespace sccl {

struct OutputComparison {
  uint64_t elements = 0;
  uint64_t wrong = 0;
  std::string first; ///< "output element 17 is 0x3, expected 0x4"
};

class TestData {
public:
  /// `element` must be known to elementBytes().
  TestData(const Collective &collective, const std::string &element,
           const std::string &reduction, uint64_t segmentBytes);

  /// Writes the input of `rank` in launch number `launch`.
  void fillInput(unsigned rank, unsigned launch, void *input) const;
  /// Compares the output of `rank`.
  OutputComparison compareOutput(unsigned rank, unsigned launch,
                                 const void *output) const;

private:
  const Collective &collective;
  std::string element, reduction;
  uint64_t segmentElements;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_TESTDATA_H
