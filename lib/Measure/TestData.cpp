//===- TestData.cpp - Recognizable data and its comparison ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestData.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <vector>

using namespace sccl;

/// Mixes the bits of `x` (the finalizer of SplitMix64).
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// What the elements of one segment have in common.
static uint64_t segmentKey(unsigned rank, uint64_t segment, unsigned launch) {
  return mix((uint64_t(rank) << 48) ^ (uint64_t(launch) << 24) ^ segment);
}

/// Bits for element `index` of a segment: cheap, and never the same for two
/// neighbours.
static uint64_t elementBits(uint64_t key, uint64_t index) {
  return key + index * 0x9e3779b97f4a7c15u;
}

/// A number that all ranks agree on for an element.
static uint64_t placeOf(uint64_t segment, unsigned launch, uint64_t index) {
  return segment + launch + index;
}

/// The bits of an element that is only copied.
static uint64_t copiedBits(const ElementType &element, uint64_t key,
                           uint64_t index) {
  return elementBits(key, index) >> (64 - element.bits());
}

/// Calls `visit` with an unsigned word of the element's size.
template <typename Visit>
static void withElementWord(const ElementType &element, Visit visit) {
  switch (element.bytes) {
  case 1:
    return visit(uint8_t());
  case 2:
    return visit(uint16_t());
  case 4:
    return visit(uint32_t());
  default:
    return visit(uint64_t());
  }
}

/// The segments of a buffer: the number of the segment that each of `chunks`,
/// in steps of `perSegment`, begins.
static std::vector<uint64_t> segmentsOf(const std::vector<unsigned> &chunks,
                                        unsigned perSegment) {
  std::vector<uint64_t> segments;
  for (size_t i = 0; i < chunks.size(); i += perSegment)
    segments.push_back(chunks[i] / perSegment);
  return segments;
}

TestData::TestData(const Collective &collective, const ElementType &element,
                   Reduction reduction, uint64_t segmentBytes, SumOrder order)
    : collective(collective), element(element),
      values(element, reduction, collective.numRanks()),
      segmentElements(segmentBytes / element.bytes), order(std::move(order)) {}

uint64_t TestData::contribution(unsigned rank, uint64_t segment,
                                unsigned launch, uint64_t index) const {
  uint64_t key = segmentKey(rank, segment, launch);
  return values.input(rank, elementBits(key, index),
                      placeOf(segment, launch, index));
}

ElementRange TestData::reduction(llvm::ArrayRef<unsigned> contributors,
                                 const std::optional<SumTree> &tree,
                                 uint64_t segment, unsigned launch,
                                 uint64_t index) const {
  llvm::SmallVector<uint64_t, 16> inputs;
  for (unsigned rank : contributors)
    inputs.push_back(contribution(rank, segment, launch, index));
  return tree ? values.reduceBy(*tree, inputs)
              : values.reduce(inputs, placeOf(segment, launch, index));
}

template <typename Word, typename Value>
std::vector<Word> TestData::patternOf(Value valueAt) const {
  std::vector<Word> pattern(std::min(segmentElements, period));
  for (uint64_t i = 0; i < pattern.size(); ++i)
    pattern[i] = Word(valueAt(i));
  return pattern;
}

void TestData::fillInput(unsigned rank, unsigned launch, void *input) const {
  std::vector<uint64_t> segments = segmentsOf(collective.pre().chunksOf(rank),
                                              collective.chunksPerSegment());
  withElementWord(element, [&](auto type) {
    using Word = decltype(type);
    Word *out = static_cast<Word *>(input);
    for (uint64_t segment : segments) {
      uint64_t key = segmentKey(0, segment, launch);
      std::vector<Word> pattern = patternOf<Word>([&](uint64_t i) {
        return collective.combining() ? contribution(rank, segment, launch, i)
                                      : copiedBits(element, key, i);
      });
      for (uint64_t i = 0; i < segmentElements; i += period)
        std::copy_n(pattern.begin(), std::min(period, segmentElements - i),
                    out + i);
      out += segmentElements;
    }
  });
}

template <typename Word>
TestData::Expected<Word> TestData::expect(llvm::ArrayRef<unsigned> contributors,
                                          uint64_t segment,
                                          unsigned launch) const {
  Expected<Word> expected;
  if (!collective.combining()) {
    uint64_t key = segmentKey(0, segment, launch);
    expected.pattern = patternOf<Word>(
        [&](uint64_t i) { return copiedBits(element, key, i); });
    return expected;
  }
  std::optional<SumTree> tree;
  if (order.isTree() && values.dependOnOrder())
    if (Result<SumTree> asked = order.treeOf(contributors.size()))
      tree = std::move(*asked);
  expected.pattern = patternOf<Word>([&](uint64_t i) {
    expected.ranges.push_back(
        reduction(contributors, tree, segment, launch, i));
    return expected.ranges.back().nearest;
  });
  return expected;
}

/// "4", or "4 to 5".
std::string TestData::describe(const ElementRange &range) const {
  std::string least = values.toString(range.least);
  return range.isExact() ? least : least + " to " + values.toString(range.most);
}

template <typename Word>
void TestData::compareSegment(const Word *out, uint64_t base,
                              const Expected<Word> &expected,
                              OutputComparison &result) const {
  const std::vector<Word> &pattern = expected.pattern;
  const std::vector<ElementRange> &ranges = expected.ranges;
  result.elements += segmentElements;
  for (uint64_t begin = 0; begin < segmentElements; begin += period) {
    uint64_t count = std::min(period, segmentElements - begin);
    if (std::equal(out + begin, out + begin + count, pattern.begin()))
      continue;
    for (uint64_t i = 0; i < count; ++i) {
      Word value = out[begin + i];
      if (value == pattern[i] ||
          (!ranges.empty() && values.contains(ranges[i], value)) ||
          result.wrong++ != 0)
        continue;
      result.first =
          "output element " + std::to_string(base + begin + i) + " is " +
          values.toString(value) + ", expected " +
          (ranges.empty() ? values.toString(pattern[i]) : describe(ranges[i]));
    }
  }
}

OutputComparison TestData::compareOutput(unsigned rank, unsigned launch,
                                         const void *output) const {
  OutputComparison result;
  std::vector<unsigned> chunks = collective.post().chunksOf(rank);
  unsigned perSegment = collective.chunksPerSegment();
  std::vector<uint64_t> segments = segmentsOf(chunks, perSegment);
  for (size_t position = 0; position < segments.size(); ++position) {
    uint64_t base = position * segmentElements;
    std::vector<unsigned> contributors =
        collective.pre().ranksOf(chunks[position * perSegment]);
    withElementWord(element, [&](auto type) {
      using Word = decltype(type);
      compareSegment(static_cast<const Word *>(output) + base, base,
                     expect<Word>(contributors, segments[position], launch),
                     result);
    });
  }
  return result;
}
