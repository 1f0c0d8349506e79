//===- Replay.cpp - Runs a fuzzer on files, and on damaged ones ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// usage: NAME ROUNDS DIR...
//
// What a build without libFuzzer makes of a fuzzer: each file in the folders,
// then ROUNDS damaged ones, always the same. An input may take ten seconds and
// the process 2 GiB.
//
//===----------------------------------------------------------------------===//

#include "Damage.h"
#include "Fuzz.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

using Corpus = std::vector<std::string>;

static Corpus readAll(int count, char **folders) {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < count; ++i)
    for (const auto &entry : std::filesystem::directory_iterator(folders[i]))
      if (entry.is_regular_file())
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Corpus corpus;
  for (const std::filesystem::path &path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  return corpus;
}

static void run(const std::string &input) {
  alarm(10);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(input.data()),
                         input.size());
  alarm(0);
}

/// Changes, removes, repeats or brings from another file a few bytes or tokens.
static std::string damage(const Corpus &corpus, std::mt19937 &random) {
  auto any = [&](size_t end) { return below(random, end); };
  std::string input = corpus[any(corpus.size())];
  for (size_t times = 1 + any(4); times > 0; --times) {
    size_t at = any(input.size() + 1), length = any(24);
    const std::string &other = corpus[any(corpus.size())];
    switch (any(8)) {
    case 0:
      input.erase(at, length);
      break;
    case 1:
      input.insert(at, input.substr(any(input.size() + 1), length));
      break;
    case 2:
      input.insert(at, other.substr(any(other.size() + 1), length));
      break;
    case 3:
      if (at < input.size())
        input[at] = char(random());
      break;
    default:
      changeToken(input, other, random);
    }
  }
  return input;
}

int main(int count, char **arguments) {
  if (count < 3)
    return 1;
  constexpr rlim_t mostBytes = rlim_t(2) << 30;
  rlimit limit = {mostBytes, mostBytes};
  setrlimit(RLIMIT_AS, &limit);
  Corpus corpus = readAll(count - 2, arguments + 2);
  demand(!corpus.empty(), "there are no files");
  for (const std::string &input : corpus)
    run(input);
  std::mt19937 random(1);
  unsigned long rounds = std::strtoul(arguments[1], nullptr, 10);
  for (unsigned long round = 0; round < rounds; ++round)
    run(damage(corpus, random));
  std::printf("%zu files, %lu damaged ones\n", corpus.size(), rounds);
}
