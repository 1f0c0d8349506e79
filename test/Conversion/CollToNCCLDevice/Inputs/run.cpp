//===- run.cpp - Runs kernels on a simulated network, and looks at results ===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: run NAME COLLECTIVE RANKS RANKS-PER-BOX [ELEMENTS [ROOT]]
//
// Launches the program NAME, which is in this executable, several times through
// lib/NCCL, with ELEMENTS floats a segment, and compares the outputs with what
// the collective says. Ranks do not meet between launches, and the input is
// overwritten as soon as a launch has returned.
//
//===----------------------------------------------------------------------===//

#include "sccl-nccl.h"
#include "world.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

static std::string collective;
static int ranks, root;
static size_t elements;

static float inputOf(int launch, int rank, size_t segment, size_t index) {
  return float((launch * 31 + rank * 7 + segment * 3 + index) % 97);
}

/// What element `index` of segment `segment` of a rank's output must be;
/// nothing below 0 is.
static float expected(int launch, int rank, size_t segment, size_t index) {
  auto sum = [&](size_t from) {
    float all = 0;
    for (int other = 0; other < ranks; ++other)
      all += inputOf(launch, other, from, index);
    return all;
  };
  bool isRoot = rank == root;
  if (collective == "all_gather" || (collective == "gather" && isRoot))
    return inputOf(launch, segment, 0, index);
  if (collective == "all_reduce" || (collective == "reduce" && isRoot))
    return sum(segment);
  if (collective == "reduce_scatter")
    return sum(rank);
  if (collective == "all_to_all")
    return inputOf(launch, segment, rank, index);
  if (collective == "broadcast")
    return inputOf(launch, root, segment, index);
  if (collective == "scatter")
    return inputOf(launch, root, rank, index);
  return -1; // reduce and gather elsewhere: anything
}

static bool runRank(const char *name, int rank) {
  size_t segment = elements * sizeof(float), bytes[2];
  if (scclNcclBytes(nullptr, name, segment, &bytes[0], &bytes[1]) !=
      ncclSuccess)
    return false;
  void *buffers[2];
  for (int i = 0; i < 2; ++i)
    ncclMemAlloc(&buffers[i], bytes[i]);
  float *input = static_cast<float *>(buffers[0]);
  float *output = static_cast<float *>(buffers[1]);
  scclNcclPlan_t plan;
  if (scclNcclCreate(sim_comm(rank), nullptr, name, input, output, segment,
                     nullptr, &plan) != ncclSuccess)
    return false;
  size_t wrong = 0, right = 0;
  for (int launch = 0; launch < 6; ++launch) {
    for (size_t i = 0; i < bytes[0] / sizeof(float); ++i)
      input[i] = inputOf(launch, rank, i / elements, i % elements);
    memset(output, 0xff, bytes[1]);
    if (scclNcclLaunch(plan, nullptr) != ncclSuccess)
      return false;
    for (size_t i = 0; i < bytes[1] / sizeof(float); ++i) {
      float value = expected(launch, rank, i / elements, i % elements);
      if (value >= 0)
        ++(output[i] == value ? right : wrong);
    }
    memset(input, 0xff, bytes[0]);
  }
  sim_meet();
  // Finalizers that run in any order do this.
  bool isRefused = scclNcclDestroy(plan) == ncclSuccess &&
                   scclNcclDestroy(plan) == ncclInvalidArgument &&
                   scclNcclLaunch(plan, nullptr) == ncclInvalidArgument;
  scclNcclAbort(plan);
  for (void *buffer : buffers)
    ncclMemFree(buffer);
  printf("rank %d: %zu right, %zu wrong\n", rank, right, wrong);
  return wrong == 0 && isRefused;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  collective = argv[2];
  ranks = atoi(argv[3]);
  elements = argc > 5 ? atoi(argv[5]) : 61;
  root = argc > 6 ? atoi(argv[6]) : 0;
  sim_begin(ranks, atoi(argv[4]));
  std::vector<char> isRight(ranks);
  std::vector<std::thread> running;
  for (int rank = 0; rank < ranks; ++rank)
    running.emplace_back([&, rank] { isRight[rank] = runRank(argv[1], rank); });
  for (std::thread &each : running)
    each.join();
  sim_end();
  for (int rank = 0; rank < ranks; ++rank)
    if (!isRight[rank])
      return 1;
  puts("all right");
  return 0;
}
