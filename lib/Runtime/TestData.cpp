//===- TestData.cpp - Recognizable data and its comparison ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestData.h"

#include "sccl/Runtime/HostExecutor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>
#include <vector>

using namespace sccl;

unsigned sccl::elementBytes(llvm::StringRef element) {
  static constexpr std::pair<const char *, unsigned> sizes[] = {
      {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}, {"i8", 1},
      {"u8", 1},  {"i32", 4},  {"u32", 4}, {"i64", 8}, {"u64", 8}};
  for (auto [name, bytes] : sizes)
    if (element == name)
      return bytes;
  return 0;
}

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

namespace {
/// Access to elements as words of `T`, and for reductions as numbers of `V`.
template <typename T> T copyWord(uint64_t key, uint64_t index) {
  return T(elementBits(key, index) >> (64 - 8 * sizeof(T)));
}

/// A number in [1, 3], small enough for sums and products over 16 ranks in 32
/// bits; types of 8 bits wrap alike everywhere.
template <typename V> V smallNumber(uint64_t key, uint64_t index) {
  return V(1 + (elementBits(key, index) >> 60) % 3);
}

template <typename V> V combine(const std::string &reduction, V a, V b) {
  if (reduction == "sum")
    return V(a + b);
  if (reduction == "prod")
    return V(a * b);
  return reduction == "min" ? std::min(a, b) : std::max(a, b);
}

/// Calls `visit` with a value of the element type, for its type only.
template <typename Visit>
void withElementType(const std::string &element, Visit visit) {
  if (element == "f32")
    visit(float());
  else if (element == "f64")
    visit(double());
  else if (element == "i8")
    visit(int8_t());
  else if (element == "u8")
    visit(uint8_t());
  else if (element == "i32")
    visit(int32_t());
  else if (element == "u32")
    visit(uint32_t());
  else if (element == "i64")
    visit(int64_t());
  else if (element == "u64")
    visit(uint64_t());
}

/// Calls `visit` with an unsigned word of the element's size.
template <typename Visit>
void withElementWord(const std::string &element, Visit visit) {
  switch (elementBytes(element)) {
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

template <typename T>
void compareElement(T actual, T expected, uint64_t index,
                    OutputComparison &result) {
  ++result.elements;
  if (actual == expected)
    return;
  if (result.wrong++ == 0) {
    std::ostringstream text;
    text << "output element " << index << " is " << +actual << ", expected "
         << +expected;
    result.first = text.str();
  }
}

/// The segments of a buffer: the number of the segment that each of `chunks`,
/// in steps of `perSegment`, begins.
std::vector<uint64_t> segmentsOf(const std::vector<unsigned> &chunks,
                                 unsigned perSegment) {
  std::vector<uint64_t> segments;
  for (size_t i = 0; i < chunks.size(); i += perSegment)
    segments.push_back(chunks[i] / perSegment);
  return segments;
}
} // namespace

TestData::TestData(const Collective &collective, const std::string &element,
                   const std::string &reduction, uint64_t segmentBytes)
    : collective(collective), element(element), reduction(reduction),
      segmentElements(segmentBytes / elementBytes(element)) {}

void TestData::fillInput(unsigned rank, unsigned launch, void *input) const {
  bool combines = collective.combining();
  std::vector<uint64_t> segments = segmentsOf(collective.pre().chunksOf(rank),
                                              collective.chunksPerSegment());
  auto fill = [&](auto type, auto makeElement) {
    auto *out = static_cast<decltype(type) *>(input);
    for (uint64_t segment : segments) {
      uint64_t key = segmentKey(combines ? rank : 0, segment, launch);
      for (uint64_t i = 0; i < segmentElements; ++i)
        *out++ = makeElement(type, key, i);
    }
  };
  if (combines)
    withElementType(element, [&](auto type) {
      fill(type, [](auto t, uint64_t key, uint64_t i) {
        return smallNumber<decltype(t)>(key, i);
      });
    });
  else
    withElementWord(element, [&](auto type) {
      fill(type, [](auto t, uint64_t key, uint64_t i) {
        return copyWord<decltype(t)>(key, i);
      });
    });
}

OutputComparison TestData::compareOutput(unsigned rank, unsigned launch,
                                         const void *output) const {
  OutputComparison result;
  std::vector<unsigned> chunks = collective.post().chunksOf(rank);
  std::vector<uint64_t> segments =
      segmentsOf(chunks, collective.chunksPerSegment());
  auto compare = [&](auto type, size_t position, auto expect) {
    using T = decltype(type);
    uint64_t base = position * segmentElements;
    const T *out = static_cast<const T *>(output) + base;
    for (uint64_t i = 0; i < segmentElements; ++i)
      compareElement<T>(out[i], expect(i), base + i, result);
  };
  for (size_t position = 0; position < segments.size(); ++position) {
    uint64_t segment = segments[position];
    if (!collective.combining()) {
      uint64_t key = segmentKey(0, segment, launch);
      withElementWord(element, [&](auto type) {
        compare(type, position,
                [&](uint64_t i) { return copyWord<decltype(type)>(key, i); });
      });
      continue;
    }
    std::vector<uint64_t> keys;
    for (unsigned contributor : collective.pre().ranksOf(
             chunks[position * collective.chunksPerSegment()]))
      keys.push_back(segmentKey(contributor, segment, launch));
    withElementType(element, [&](auto type) {
      using T = decltype(type);
      compare(type, position, [&](uint64_t i) {
        T value = smallNumber<T>(keys[0], i);
        for (size_t k = 1; k < keys.size(); ++k)
          value = combine<T>(reduction, value, smallNumber<T>(keys[k], i));
        return value;
      });
    });
  }
  return result;
}
