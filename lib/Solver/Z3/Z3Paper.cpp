//===- Z3Paper.cpp - Constraints C1-C6 of the SCCL paper ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The encoding of the paper, section 3.5, unaltered except for one misprint: C5
// counts a send in the step in which it arrives, so the time in it must be that
// of the destination, not of the sender. It stays the baseline, so it knows
// neither time windows nor implied constraints. Where switches copy, C5 counts
// once what is one send there.
//
//===----------------------------------------------------------------------===//

#include "Solver/Pruning.h"
#include "Z3Encoding.h"
#include "sccl/Model/SwitchLoads.h"

using namespace sccl;

namespace {
class PaperEncoding final : public Z3Encoding {
public:
  PaperEncoding(const Instance &instance, z3::context &context)
      : instance(instance), topology(instance.topology),
        collective(instance.collective), context(context) {}

  uint64_t plan(uint64_t limit, const StopFunction &stop) override;
  void encode(z3::solver &solver, const StopFunction &stop) override;
  Schedule decode(const z3::model &model) const override;

private:
  void addVariables(z3::solver &solver, const StopFunction &stop);
  void encodeChunk(z3::solver &solver, unsigned chunk);
  void encodeArrival(z3::solver &solver, unsigned chunk, unsigned rank);
  void encodeBandwidth(z3::solver &solver, const StopFunction &stop);
  std::vector<z3::expr> atLeastTwoTo(unsigned most, const z3::expr &rounds);
  void limitBySum(z3::solver &solver, const z3::expr_vector &load,
                  unsigned bandwidth, const z3::expr &rounds);
  const z3::expr &time(unsigned chunk, unsigned rank) const {
    return times[size_t(chunk) * topology.numRanks() + rank];
  }
  const z3::expr &send(unsigned chunk, unsigned link) const {
    return sends[size_t(chunk) * topology.links().size() + link];
  }
  z3::expr number(unsigned value) const { return context.int_val(value); }

  const Instance &instance;
  const Topology &topology;
  const Collective &collective;
  z3::context &context;
  std::vector<z3::expr> times;  // time(c, n)
  std::vector<z3::expr> sends;  // snd(n, c, n')
  std::vector<z3::expr> rounds; // r_s
};
} // namespace

std::unique_ptr<Z3Encoding> sccl::createPaperEncoding(const Instance &instance,
                                                      z3::context &context) {
  return std::make_unique<PaperEncoding>(instance, context);
}

/// Counts the arrival times, the sends, one term of C5 per send and step, and
/// the rounds.
uint64_t PaperEncoding::plan(uint64_t, const StopFunction &) {
  uint64_t perChunk =
      topology.numRanks() + topology.links().size() * (instance.steps + 1ull);
  unsigned __int128 total =
      static_cast<unsigned __int128>(perChunk) * collective.numChunks() +
      instance.steps;
  return total > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(total);
}

void PaperEncoding::encode(z3::solver &solver, const StopFunction &stop) {
  addVariables(solver, stop);
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    if (stop())
      return;
    encodeChunk(solver, chunk);
  }
  encodeBandwidth(solver, stop);
}

void PaperEncoding::addVariables(z3::solver &solver, const StopFunction &stop) {
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    if (stop())
      return;
    std::string name = "_c" + std::to_string(chunk) + "_";
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
      times.push_back(
          context.int_const(("time" + name + std::to_string(rank)).c_str()));
    for (const Link &link : topology.links())
      sends.push_back(
          context.bool_const(("snd" + name + std::to_string(link.src) + "_" +
                              std::to_string(link.dst))
                                 .c_str()));
  }
  for (unsigned step = 1; step <= instance.steps; ++step) {
    rounds.push_back(
        context.int_const(("rounds_s" + std::to_string(step)).c_str()));
    solver.add(rounds.back() >= 1);
  }
}

void PaperEncoding::encodeChunk(z3::solver &solver, unsigned chunk) {
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    const z3::expr &when = time(chunk, rank);
    if (collective.pre().contains(rank, chunk)) // C1
      solver.add(when == 0);
    else
      encodeArrival(solver, chunk, rank);
    if (collective.post().contains(rank, chunk)) // C2
      solver.add(when <= number(instance.steps));
  }
  for (unsigned link = 0; link < topology.links().size(); ++link) { // C4
    const Link &ends = topology.links()[link];
    solver.add(z3::implies(send(chunk, link),
                           time(chunk, ends.src) < time(chunk, ends.dst)));
  }
}

/// C3, with the range of the times.
void PaperEncoding::encodeArrival(z3::solver &solver, unsigned chunk,
                                  unsigned rank) {
  const z3::expr &when = time(chunk, rank);
  solver.add(when >= 0 && when <= number(instance.steps + 1));
  z3::expr_vector incoming(context);
  for (unsigned link : topology.inLinks(rank))
    incoming.push_back(send(chunk, link));
  solver.add(z3::implies(when <= number(instance.steps),
                         anyOf(incoming) && atMost(incoming, 1)));
}

/// C5 and C6.
void PaperEncoding::encodeBandwidth(z3::solver &solver,
                                    const StopFunction &stop) {
  const unsigned mostRounds = instance.rounds - instance.steps + 1;
  uint64_t caseTerms = 0;
  for (const BandwidthLimit &limit : topology.limits())
    caseTerms += instance.steps *
                 termsOfCases(collective.numChunks() * limit.links.size(),
                              limit.bandwidth, mostRounds);
  SwitchLimits switches(topology);
  for (unsigned index = 0; index < topology.limits().size(); ++index) {
    const BandwidthLimit &limit = topology.limits()[index];
    std::vector<std::vector<unsigned>> sets = switches.countedOnce(index);
    for (unsigned step = 1; step <= instance.steps; ++step) {
      if (stop())
        return;
      z3::expr_vector load(context);
      for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
        for (const std::vector<unsigned> &set : sets) {
          z3::expr_vector sent(context);
          for (unsigned link : set)
            sent.push_back(send(chunk, link) &&
                           time(chunk, topology.links()[link].dst) ==
                               number(step));
          load.push_back(sent.size() == 1 ? sent[0] : anyOf(sent));
        }
      if (caseTerms <= maxCaseTerms)
        limitByCases(solver, load, limit.bandwidth,
                     atLeastTwoTo(mostRounds, rounds[step - 1]));
      else
        limitBySum(solver, load, limit.bandwidth, rounds[step - 1]);
    }
  }
  z3::expr_vector all(context);
  for (const z3::expr &round : rounds)
    all.push_back(round);
  solver.add(z3::sum(all) == number(instance.rounds));
}

/// rounds >= 2, ..., rounds >= most.
std::vector<z3::expr> PaperEncoding::atLeastTwoTo(unsigned most,
                                                  const z3::expr &rounds) {
  std::vector<z3::expr> more;
  for (unsigned m = 2; m <= most; ++m)
    more.push_back(rounds >= number(m));
  return more;
}

/// |load| <= bandwidth * rounds, in integers.
void PaperEncoding::limitBySum(z3::solver &solver, const z3::expr_vector &load,
                               unsigned bandwidth, const z3::expr &rounds) {
  z3::expr_vector ones(context);
  for (unsigned i = 0; i < load.size(); ++i)
    ones.push_back(z3::ite(load[i], number(1), number(0)));
  solver.add(z3::sum(ones) <= number(bandwidth) * rounds);
}

Schedule PaperEncoding::decode(const z3::model &model) const {
  Schedule schedule;
  for (const z3::expr &round : rounds)
    schedule.steps.push_back({valueIn(model, round), {}});
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    for (unsigned link = 0; link < topology.links().size(); ++link) {
      if (!isTrueIn(model, send(chunk, link)))
        continue;
      const Link &ends = topology.links()[link];
      // Time S + 1 stands for "never", so such a send does not take place.
      unsigned step = valueIn(model, time(chunk, ends.dst));
      if (step >= 1 && step <= instance.steps)
        schedule.steps[step - 1].sends.push_back({chunk, ends.src, ends.dst});
    }
  dropUselessSends(collective, schedule);
  multicast(schedule, topology);
  return schedule;
}
