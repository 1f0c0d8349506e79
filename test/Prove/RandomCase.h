//===- RandomCase.h - From a random topology to a result --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case is everything from a topology to a launch: a schedule, what it is
// lowered to, and how many elements of which type it moves. Everything random
// is drawn when a case is made, so that a case can be run again, and smaller.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_RANDOMCASE_H
#define SCCL_TEST_PROVE_RANDOMCASE_H

#include "Data/RandomInstance.h"

#include "sccl/Model/Inversion.h"
#include "sccl/Options/LoweringOptions.h"

#include <optional>
#include <string>

namespace sccl::test {

/// How the ranks of a case reach each other.
enum class Reach {
  Memory,   ///< each other's buffers, by plain addresses
  Copies,   ///< the communicator's memory, and copies
  Messages, ///< a scclTransport
};

struct RandomCase {
  Topology topology;
  Implementation implementation;
  std::string source; ///< who made the schedule: "grown", "compose/flow", ...
  LoweringOptions lowering = {};
  Reach reach = Reach::Memory;
  uint64_t elements = 1; ///< of a segment
  bool inPlace = false;
  bool areProcesses = false; ///< ranks, which are threads else
  unsigned launches = 3;     ///< each with data of its own
};

/// The next case, with 2 to `maxRanks` ranks. Its schedule is right by
/// `checkSchedule`, and its options are among those that can be had.
RandomCase makeCase(Random &random, unsigned maxRanks);

/// Options of lowering that go together.
LoweringOptions randomLowering(Random &random);

/// The sum number `number` on a machine that has a name: with the inputs of
/// all ranks on each, halves that travel, or whatever comes; in the order of a
/// tree, if it can be.
RandomCase makeSumCase(Random &random, unsigned number);

/// Asks for the order of summation that binds most, of those that ranks can
/// have.
void chooseOrder(RandomCase &given);

/// True if ranks do not reduce in the order of `given`.
bool breaksOrder(const RandomCase &given);

/// A schedule that somebody in a hurry writes: in each step some links bring
/// what their ends lack, needed or not, until all have what they are to have.
/// `collective` must not reduce.
Schedule growSchedule(Random &random, const Topology &topology,
                      const Collective &collective);

/// Runs the program of `given`, a sum in the order of a tree, `times` times, of
/// so many launches with data of their own each: with other sizes, in place and
/// not, in other ways to reach ranks, as threads and processes, and compares
/// every bit. Returns what is wrong, or nothing.
inline constexpr unsigned launchesOfSums = 32;
std::optional<std::string> findOtherBits(RandomCase given, Random &random,
                                         unsigned times);

/// Elements that were held to their error bound, and how many of them are
/// beyond it, beyond half of it, and beyond that of a rounding less.
struct ErrorTally {
  uint64_t elements = 0, beyond = 0, beyondHalf = 0, beyondLess = 0;
};
/// Runs the program of `given`, a sum or an average of floats, once, and adds
/// up in `tally` what becomes of it. Returns what is wrong, or nothing.
std::optional<std::string> findLargeError(const RandomCase &given,
                                          Random &random, ErrorTally &tally);

/// The schedule and its topology in one .mlir file.
std::string moduleText(const RandomCase &given);

/// What `sccl run FILE` takes to do the same, as far as it can.
std::string describe(const RandomCase &given);

/// Checks, compiles and runs, three launches in a row, and compares every
/// element. Returns what is wrong, or nothing.
std::optional<std::string> findFault(const RandomCase &given);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_RANDOMCASE_H
