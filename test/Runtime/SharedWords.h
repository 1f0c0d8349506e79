//===- SharedWords.h - Memory that ranks share, as words --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_SHAREDWORDS_H
#define SCCL_TEST_RUNTIME_SHAREDWORDS_H

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace sccl {

/// The words that ranks share, each once, as this process has them mapped:
/// those of libsccl, or with "fake-gpu" the memory of the devices of fake/.
class SharedWords {
public:
  explicit SharedWords(const std::string &file = "sccl") {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    std::set<uint64_t> nonces;
    bool hasHead = file == "sccl";
    while (std::getline(maps, line)) {
      uint64_t begin, end;
      if (line.find("memfd:" + file + " ") == std::string::npos ||
          sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &begin, &end) != 2)
        continue;
      auto *first = reinterpret_cast<uint64_t *>(begin);
      if (!hasHead || nonces.insert(*first).second)
        parts.push_back(
            {hasHead ? first + 512 : first, reinterpret_cast<uint64_t *>(end)});
    }
  }

  std::vector<uint64_t> read() const {
    std::vector<uint64_t> words;
    for (const Part &part : parts)
      words.insert(words.end(), part.begin, part.end);
    return words;
  }
  void write(const std::vector<uint64_t> &words) const {
    const uint64_t *next = words.data();
    for (const Part &part : parts)
      for (uint64_t *word = part.begin; word != part.end; ++word, ++next)
        if (*word != *next)
          *word = *next;
  }

private:
  struct Part {
    uint64_t *begin, *end;
  };
  std::vector<Part> parts;
};

/// Writes what words will be when they have grown as from `before` to `after`
/// so many times more.
inline void growOn(const std::string &file, const std::vector<uint64_t> &before,
                   std::vector<uint64_t> after, uint64_t times) {
  for (size_t i = 0; i < after.size(); ++i)
    after[i] += times * (after[i] - before[i]);
  SharedWords(file).write(after);
}

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_SHAREDWORDS_H
