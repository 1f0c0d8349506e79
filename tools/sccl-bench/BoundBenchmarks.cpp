//===- BoundBenchmarks.cpp - Lower bounds and their certificates ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

using namespace sccl;
using namespace sccl::bench;

using Kind = CollectiveKind;

static constexpr unsigned maxSteps = 8;

/// bound/CASE/S and certificate/CASE/S: to find the bound at S steps, and to
/// read and check its certificate.
static void addBound(const Case &which, unsigned steps) {
  Topology topology = unwrap(makeBuiltinTopology(which.topology));
  Collective collective = smallest(which, topology);
  Result<LowerBound> bound = lowerBound(topology, collective, steps);
  if (!bound)
    die(which.name() + ": " + bound.error());
  std::string name = which.name() + "/" + std::to_string(steps);
  std::string text = printCertificate(bound->certificate);
  add("bound/" + name, [=] {
    Result<LowerBound> again = lowerBound(topology, collective, steps);
    return again ? "" : again.error();
  });
  add("certificate/" + name,
      [=] { return checkText(text, topology, collective); });
}

/// refutation/...: to find and check a proof that the instance has no schedule.
static void addRefutation(const std::string &topology, Kind kind,
                          unsigned chunks, unsigned steps, unsigned rounds) {
  Instance instance = makeInstance(topology, kind, chunks, steps, rounds);
  add("refutation/" + topology + "/" + std::string(collectiveName(kind)) + "/" +
          std::to_string(chunks) + "," + std::to_string(steps) + "," +
          std::to_string(rounds),
      [instance]() -> std::string {
        Result<LowerBound> bound =
            lowerBound(instance.topology, instance.collective, instance.steps);
        if (!bound)
          return bound.error();
        Rational cost(instance.rounds, instance.collective.chunks());
        if (bound->value && *bound->value <= cost)
          return "not refuted";
        return checkText(printCertificate(bound->certificate),
                         instance.topology, instance.collective);
      });
}

void bench::registerBounds() {
  for (const Case &which : machineCases())
    for (unsigned steps = 1; steps <= maxSteps; ++steps)
      addBound(which, steps);
  addRefutation("dgx1", Kind::AllGather, 2, 2, 2);
  addRefutation("dgx1", Kind::AllGather, 3, 2, 4);
  addRefutation("dgx1", Kind::AllGather, 5, 2, 7);
  addRefutation("dgx1", Kind::AllGather, 3, 3, 3);
  addRefutation("dgx1", Kind::AllGather, 4, 4, 4);
  addRefutation("dgx1", Kind::AllGather, 7, 3, 8);
  addRefutation("dgx1", Kind::AllGather, 7, 7, 8);
  addRefutation("dgx1", Kind::Broadcast, 7, 3, 3);
  addRefutation("dgx1", Kind::Broadcast, 13, 4, 4);
  addRefutation("dgx1", Kind::Broadcast, 16, 4, 5);
  addRefutation("dgx1", Kind::Broadcast, 19, 5, 5);
  addRefutation("dgx1", Kind::AllToAll, 16, 2, 5);
  addRefutation("dgx1", Kind::AllToAll, 32, 2, 10);
  addRefutation("dgx1", Kind::AllToAll, 32, 3, 10);
  addRefutation("amd_z52", Kind::Broadcast, 9, 7, 7);
  addRefutation("amd_z52", Kind::Broadcast, 11, 8, 8);
  addRefutation("amd_z52", Kind::AllToAll, 8, 4, 7);
  addRefutation("amd_z52", Kind::AllToAll, 16, 4, 15);
}
