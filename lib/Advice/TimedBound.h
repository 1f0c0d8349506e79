//===- TimedBound.h - How many bytes can move within a time -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear program over links and times: how little time T does it take for
// every byte to get from each rank that has it, or contributes to it, to each
// that needs it? What it answers bounds all programs in the simulator's model
// (Simulator.h) whose ranks learn of one another by flags or LL words.
//
// Why it is a bound. Follow the bytes of one position in the send buffers
// through any program that ends within T. A byte that is on the limits of link
// e = (u, v) at time t was at u by then, and v can know of it at t + h(e) at
// the earliest, h(e) the least latency that flags take from u to v: a push
// signals after its last byte, a pull waits as long for its first. A transfer
// takes the time of a load at least, while its bytes may be on the link from
// the beginning on; so let each of them count as on the link up to that time
// before it is, with the load as a part of h(e), and let a limit put off what
// it carries in that time, no more. So if information must get from rank a to
// rank b, the sends contain a path from a to b whose times ascend by h at
// least, from 0 to T. Cut [0, T] into slots. Let x(e, i) be the part of the
// bytes on e in slot i. A path that is on e within slot i goes on in the first
// slot that ends after the beginning of i plus h(e), or later; so for each pair
// (a, b) the x allow a flow of 1 from a to b through links and slots. A limit
// of rate r carries r times the length of a slot in it, for all bytes together.
// The program has all of this, what the next paragraph says, and nothing else.
//
// If all contributions must reach all ranks, sends between the blocks of any
// partition number 2 (blocks - 1) at least (Certificate.h, "Gossip"). Of these
// the first and the last are of less use: before the latency of a hop within
// boxes a rank sends to another box what is its own, and after so much before T
// it tells nobody else. Draw from each block, at random, a rank a whose
// contribution is followed, and a rank b to which. A send between blocks is of
// use only if some a, of another block than it goes to, can be in it, and if it
// can still tell some b, of another block than it comes from. Those that are of
// use suffice: from a to b some path leads, and what of it is between the last
// time it leaves a's block and the first time after that it enters b's is of
// use. So for each draw they number 2 (blocks - 1), and so does their mean, in
// which a send counts by the probability that it is of use. The draws of a and
// of b are independent; a can be in what u sends at t if its latency to u is no
// more than t, and likewise for b.
//
// Any slots do; those that end at sums of latencies after 0 and before T lose
// little. Between two T at which such moments meet, their order is the same and
// lengths are linear in T, so that the program finds the least T itself
// (TimedProgram.h). One that takes less time than the span begins with may as
// well idle. The bytes may be scaled into the bounds of the rows, so that the
// multipliers of one size prove something for all sizes: a line.
//
// Symmetries of topology, rates, latencies and collective map programs to
// programs, and a mean over them is as good: so x need only be known for one
// link of each orbit, and flows for one pair. Flows are summed up over links
// that look alike from their ends, which loses nothing that makes it wrong.
//
// The optimum is taken from the multipliers: what they prove is computed anew,
// less what they fail to prove times the largest value that columns need.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_TIMEDBOUND_H
#define SCCL_LIB_ADVICE_TIMEDBOUND_H

#include "sccl/Model/Collective.h"
#include "sccl/Optimize/Deadline.h"
#include "sccl/Simulate/Simulator.h"

#include <memory>

namespace sccl::advice {

class TimedBound {
public:
  /// For send buffers of `collective` on `topology`, which must outlive this.
  /// Knows nothing, and says so, of more than some thousand links, and of
  /// collectives whose chunks go from several ranks to several unless all of
  /// them contribute to each and all get it.
  TimedBound(const Topology &topology, const Collective &collective,
             const Timing &timing);
  ~TimedBound();

  /// Microseconds that no program stays below that has send buffers of `bytes`
  /// bytes: at least `known`, which is one such time, and at most `reached`,
  /// which some program takes. Nothing is improved any more once `deadline` is
  /// over.
  double leastTime(double bytes, double known, double reached,
                   const Deadline &deadline);

private:
  struct Model;
  std::unique_ptr<Model> model;
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_TIMEDBOUND_H
