// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers a set as a program of MSCCL++ would, and prints for each power of
// two of bytes that a rank sends which plan a call out of place and one in
// place take. REGISTER is the function of the set.
// Arguments: FOLDER COLLECTIVE RANKS RANKS-PER-NODE LEAST MOST

#include <mscclpp/algorithm.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

void REGISTER(const std::string &folder, int rank, int worldSize,
              int ranksPerNode);

int main(int, char **argv) {
  std::string collective = argv[2];
  int ranks = std::atoi(argv[3]), perNode = std::atoi(argv[4]);
  size_t least = std::strtoull(argv[5], nullptr, 10);
  size_t most = std::strtoull(argv[6], nullptr, 10);
  constexpr int rank = 1;
  try {
    REGISTER(argv[1], rank, ranks, perNode);
  } catch (const std::exception &error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
  auto builder = mscclpp::AlgorithmCollectionBuilder::getInstance();
  mscclpp::Algorithms all;
  for (const auto &made : builder->builders) {
    auto plan = std::dynamic_pointer_cast<mscclpp::DslAlgorithm>(made);
    all[collective][plan->name()] = plan;
  }
  auto choose = [&](size_t size, const char *input, char *output) {
    auto plan = builder->selector(
        all, {ranks, perNode, rank, input, output, size, collective});
    return plan ? plan->name() : std::string("none");
  };
  char *memory = reinterpret_cast<char *>(uintptr_t(1) << 40);
  for (size_t size = least; size <= most; size *= 2) {
    const char *input = memory;
    char *output = memory;
    if (collective == "allgather")
      input += rank * size;
    if (collective == "reducescatter")
      output += rank * (size / ranks);
    std::printf("%zu %s %s\n", size,
                choose(size, memory + (uintptr_t(1) << 39), memory).c_str(),
                choose(size, input, output).c_str());
  }
  // No multiple of 16 bytes.
  std::printf("odd %s\n",
              choose(least + 4, memory + (uintptr_t(1) << 39), memory).c_str());
}
