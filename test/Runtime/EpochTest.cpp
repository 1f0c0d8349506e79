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
#include "SharedWords.h"

#include <functional>
#include <set>

using namespace sccl;

namespace {
class PresetRun : public LongRun {
public:
  using LongRun::LongRun;

protected:
  /// The words at rank 0, while nobody launches.
  std::vector<uint64_t> look() {
    meet(end);
    std::vector<uint64_t> words;
    if (end.rank == 0)
      words = SharedWords().read();
    meet(end);
    return words;
  }
};

class HighNumbers : public PresetRun {
public:
  using PresetRun::PresetRun;

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
    meet(end);
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

/// A longer launch reaches words that were last written 2^32 launches ago.
class OldWords : public PresetRun {
public:
  using PresetRun::PresetRun;

  int run() {
    // Memory that was never written holds the number of launch 2^32.
    (void)launch(0, 64);
    comeAround();
    for (unsigned round = 0; round < 3 && !failed; ++round) {
      longLaunches();
      comeAround();
    }
    return failed;
  }

private:
  /// What comes after four launches is 2^32 launches after the second last one
  /// that went before.
  void comeAround() {
    shortLaunches();
    std::vector<uint64_t> before = look();
    shortLaunches();
    std::vector<uint64_t> after = look();
    if (end.rank == 0)
      growOn("sccl", before, after, (uint64_t(1) << 31) - 3);
    meet(end);
    longLaunches();
  }
  /// One for each half of scratch.
  void longLaunches() {
    for (unsigned i = 0; i < 2; ++i)
      failed = failed || !launch(++number, most);
  }
  void shortLaunches() {
    for (unsigned i = 0; i < 2; ++i)
      failed = failed || !launch(0, 64);
  }
  uint64_t number = 0;
};

/// Runs two ranks of each of the ways that `isMeant` is true of.
template <typename Run>
void runEach(const std::function<bool(const LongWay &)> &isMeant) {
  for (const LongWay &way : longWays) {
    if (!isMeant(way))
      continue;
    LoopNetwork network;
    EXPECT_EQ(0, runRanks(2, way.ranks,
                          [&](const RankEnd &end) {
                            return Run(end, way, network).run();
                          }))
        << way.name;
  }
}
} // namespace

TEST(Epochs, ComeToPowersOfTwo) {
  runEach<HighNumbers>([](const LongWay &way) { return !way.messages; });
}

TEST(Epochs, DoNotMakeOldWordsNew) {
  runEach<OldWords>([](const LongWay &way) { return way.plan == halvesAndLL; });
}
