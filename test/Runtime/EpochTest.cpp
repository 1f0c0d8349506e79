//===- EpochTest.cpp - Launches with high numbers -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks know which launch they are in by words in shared memory alone: epochs,
// flags, numbers of mails and states. In two launches of the same data each of
// them grows by as much as in any other two. So the words after m * 2 launches
// are those of now and m times that much, which are written here.
//
//===----------------------------------------------------------------------===//

#include "LongRun.h"

#include <cinttypes>
#include <cstring>
#include <set>

using namespace sccl;

namespace {
/// The words that ranks share, each once, as this process has them mapped.
class SharedWords {
public:
  SharedWords() {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    std::set<uint64_t> nonces;
    while (std::getline(maps, line)) {
      uint64_t begin, end;
      if (line.find("memfd:sccl") == std::string::npos ||
          sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &begin, &end) != 2)
        continue;
      auto *first = reinterpret_cast<uint64_t *>(begin);
      if (nonces.insert(*first).second)
        parts.push_back({first + 512, reinterpret_cast<uint64_t *>(end)});
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

class HighNumbers : public LongRun {
public:
  using LongRun::LongRun;

  int run() {
    launchSome(4);
    std::vector<uint64_t> before = look();
    launchSome(2);
    std::vector<uint64_t> after = look();
    for (size_t i = 0; i < after.size(); ++i)
      growth.push_back(after[i] - before[i]);
    // The rates of words; in rank 0, which sees all of them.
    for (uint64_t grown : growth)
      if (grown % 2 == 0 && grown != 0 && grown <= 2 * mostPerLaunch)
        rates.insert(grown / 2);
    uint64_t highest = end.rank == 0 ? *rates.rbegin() : 0;
    for (uint64_t limit : {uint64_t(1) << 31, uint64_t(1) << 32})
      for (uint64_t rate = 1; rate <= mostPerLaunch && !failed; ++rate)
        cross(limit, rate, true);
    for (uint64_t rate = 1; rate <= mostPerLaunch && !failed; ++rate)
      cross(uint64_t(1) << 63, rate, rate == highest);
    return failed;
  }

private:
  static constexpr uint64_t mostPerLaunch = 16;

  /// Launches of the same data, so that nothing changes but numbers.
  void launchSome(unsigned count) {
    for (unsigned i = 0; i < count && !failed; ++i, ++launches)
      failed = !launch(0, 64);
  }
  /// The words at rank 0, while nobody launches.
  std::vector<uint64_t> look() {
    meet();
    std::vector<uint64_t> words;
    if (end.rank == 0)
      words = SharedWords().read();
    meet();
    return words;
  }

  /// Launches while the words that grow by `rate` in each come to `limit`, if
  /// there are such words, and `isWanted` at rank 0.
  void cross(uint64_t limit, uint64_t rate, bool isWanted) {
    std::vector<int> all;
    end.gather(int(isWanted && rates.count(rate) != 0), all);
    if (!all[0])
      return;
    uint64_t pairs = (limit / rate - launches) / 2 - 4;
    std::vector<uint64_t> words = look();
    for (size_t i = 0; i < words.size(); ++i)
      words[i] += pairs * growth[i];
    if (end.rank == 0)
      SharedWords().write(words);
    meet();
    launches += 2 * pairs;
    launchSome(16);
    std::vector<uint64_t> later = look();
    bool hasCrossed = false;
    for (size_t i = 0; i < words.size(); ++i)
      hasCrossed |=
          growth[i] == 2 * rate && words[i] < limit && later[i] >= limit;
    failed |=
        end.rank == 0 &&
        check(hasCrossed, std::string(way.name) + ": no word that grows " +
                              std::to_string(rate) + " comes to " +
                              std::to_string(limit));
    for (size_t count : {1, 100, 1000, 4096, 64})
      failed = failed || !launch(count, count);
    // The words grow as before once sizes do not change.
    launchSome(4);
    launches += 5;
  }

  uint64_t launches = 0;
  std::vector<uint64_t> growth; ///< of each word in two launches
  std::set<uint64_t> rates;     ///< of words in a launch
};
} // namespace

TEST(Epochs, ComeToPowersOfTwo) {
  for (const LongWay &way : longWays) {
    if (way.messages)
      continue;
    LoopNetwork network;
    EXPECT_EQ(0, runRanks(2, way.ranks,
                          [&](const RankEnd &end) {
                            return HighNumbers(end, way, network).run();
                          }))
        << way.name;
  }
}
