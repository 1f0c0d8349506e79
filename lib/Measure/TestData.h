//===- TestData.h - Recognizable data and its comparison --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element is a function of the segment it belongs to, its index there,
// the launch and, in combining collectives, the rank that contributes it.
// What does not depend on the order of reductions, or has the order of a tree,
// is compared bit for bit, the rest with its error bound, see ElementValues.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MEASURE_TESTDATA_H
#define SCCL_LIB_MEASURE_TESTDATA_H

#include "ElementValues.h"

#include "sccl/Model/Collective.h"
#include "sccl/Model/SumTree.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sccl {

struct OutputComparison {
  uint64_t elements = 0;
  uint64_t wrong = 0;
  /// "output element 17 is 3, expected 4", or "expected 4 to 5"
  std::string first;
};

class TestData {
public:
  /// Results have to have the bits of `order` if it has trees.
  TestData(const Collective &collective, const ElementType &element,
           Reduction reduction, uint64_t segmentBytes,
           SumOrder order = SumOrder::Any);

  /// Writes the input of `rank` in launch number `launch`.
  void fillInput(unsigned rank, unsigned launch, void *input) const;
  /// Compares the output of `rank`.
  OutputComparison compareOutput(unsigned rank, unsigned launch,
                                 const void *output) const;

private:
  /// The elements of a segment repeat after this many: reductions by their
  /// definition take long. A prime, so that data which arrives in the wrong
  /// place of a block, a tile or a chunk is not what is expected there.
  static constexpr uint64_t period = 65521;

  /// What a contribution, or the result of some, is at an index of a segment.
  uint64_t contribution(unsigned rank, uint64_t segment, unsigned launch,
                        uint64_t index) const;
  ElementRange reduction(llvm::ArrayRef<unsigned> contributors,
                         const std::optional<SumTree> &tree, uint64_t segment,
                         unsigned launch, uint64_t index) const;
  /// The first elements of a segment, one period at most.
  template <typename Word, typename Value>
  std::vector<Word> patternOf(Value valueAt) const;
  /// What a segment of an output has to be.
  template <typename Word> struct Expected {
    std::vector<Word> pattern;
    std::vector<ElementRange> ranges; ///< of reductions, likewise
  };
  template <typename Word>
  Expected<Word> expect(llvm::ArrayRef<unsigned> contributors, uint64_t segment,
                        unsigned launch) const;
  /// Compares a segment of an output, which begins with element `base` of it.
  template <typename Word>
  void compareSegment(const Word *out, uint64_t base,
                      const Expected<Word> &expected,
                      OutputComparison &result) const;
  std::string describe(const ElementRange &range) const;

  const Collective &collective;
  ElementType element;
  ElementValues values;
  uint64_t segmentElements;
  SumOrder order;
};

} // namespace sccl

#endif // SCCL_LIB_MEASURE_TESTDATA_H
