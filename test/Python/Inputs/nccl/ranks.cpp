//===- ranks.cpp - All ranks of a program that sccl convert has written ---===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For Python: PROGRAM is the file that was written.
//
//===----------------------------------------------------------------------===//

#include PROGRAM

#include <thread>

using namespace sccl_program;

/// The segments of the input and the output of `rank`.
extern "C" void segments(int rank, int *result) {
  result[0] = int(read(rank).inputs);
  result[1] = int(read(rank).outputs);
}

/// The first error, or 0. A message that nobody has received is one.
extern "C" int launch(int ranks, void **inputs, void **outputs, size_t count,
                      int type, int op, int overlaps) {
  StandInWorld world(ranks);
  std::vector<int> codes(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      StandInRank comm{&world, rank};
      auto element = ncclDataType_t(type);
      std::vector<char> scratch(
          scratchBytes(rank, count, element, overlaps) + 16, -1);
      codes[rank] = run(inputs[rank], outputs[rank], scratch.data(), count,
                        element, ncclRedOp_t(op), &comm, nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int code : codes)
    if (code != 0)
      return code;
  for (auto &[ends, link] : world.links)
    if (!link.empty())
      return ncclInternalError;
  return 0;
}
