//===- sccl-bench.cpp - Benchmarks of synthesis, bounds and search --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `sccl-bench --benchmark_list_tests` names all benchmarks; the figures in
// docs/Benchmarks.md come from here.
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Search/Frontier.h"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

using namespace sccl;

static unsigned failureCount = 0;

unsigned bench::failures() { return failureCount; }

void bench::die(const std::string &message) {
  std::fprintf(stderr, "sccl-bench: error: %s\n", message.c_str());
  std::exit(1);
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

std::string bench::Case::name() const {
  std::string text = topology + "/" + std::string(collectiveName(kind));
  return isRooted(kind) ? text + "/root:" + std::to_string(root) : text;
}

std::vector<bench::Case> bench::machineCases() {
  std::vector<Case> cases;
  for (const char *spec : {"dgx1", "amd_z52"}) {
    Topology topology = unwrap(makeBuiltinTopology(spec));
    std::vector<unsigned> orbits =
        rankOrbits(automorphismGenerators(topology), topology.numRanks());
    for (CollectiveKind kind : allCollectiveKinds()) {
      if (kind == CollectiveKind::AllReduce)
        continue;
      for (unsigned root = 0; root < (isRooted(kind) ? orbits.size() : 1);
           ++root)
        if (orbits[root] == root)
          cases.push_back({spec, kind, root});
    }
  }
  return cases;
}

Instance bench::makeInstance(const std::string &topology, CollectiveKind kind,
                             unsigned chunks, unsigned steps, unsigned rounds,
                             unsigned root) {
  Topology ranks = unwrap(makeBuiltinTopology(topology));
  Collective collective =
      unwrap(Collective::make(kind, ranks.numRanks(), chunks, root));
  return unwrap(Instance::make(std::move(ranks), collective, steps, rounds));
}

Collective bench::smallest(const Case &which, const Topology &topology) {
  return unwrap(
      smallestCollective({which.kind, which.root}, topology.numRanks()));
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

static void addTo(const std::string &name, bool mayGiveUp,
                  std::function<bench::Body()> prepare) {
  auto run = [=](benchmark::State &state) {
    bench::Body body = prepare();
    for (auto _ : state)
      if (std::string problem = body(); !problem.empty()) {
        failureCount += !mayGiveUp || !problem.starts_with(bench::gaveUp);
        state.SkipWithError(problem.c_str());
        break;
      }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime();
}

void bench::addPrepared(const std::string &name,
                        std::function<Body()> prepare) {
  addTo(name, /*mayGiveUp=*/false, std::move(prepare));
}

void bench::add(const std::string &name, Body body) {
  addTo(name, /*mayGiveUp=*/false, [body] { return body; });
}

void bench::addOptional(const std::string &name, Body body) {
  addTo(name, /*mayGiveUp=*/true, [body] { return body; });
}

std::string bench::synthesizeAndCheck(const Instance &instance,
                                      std::string_view engine,
                                      double timeoutSeconds) {
  SolverOptions options;
  options.timeoutSeconds = timeoutSeconds;
  SynthesisResult result = synthesize(instance, options, engine);
  if (std::holds_alternative<Satisfied>(result.outcome))
    return ""; // `synthesize` has had it checked
  if (auto *failed = std::get_if<Failed>(&result.outcome))
    return failed->message;
  if (auto *unknown = std::get_if<Unknown>(&result.outcome))
    return std::string(gaveUp) + ": " + unknown->reason;
  return "unsatisfiable";
}

std::string bench::checkText(const std::string &text, const Topology &topology,
                             const Collective &collective) {
  Result<Certificate> certificate = parseCertificate(text);
  if (!certificate)
    return certificate.error();
  return checkCertificate(*certificate, topology, collective).value_or("");
}

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  bench::registerTables();
  bench::registerBounds();
  bench::registerFrontiers();
  bench::registerScaling();
  bench::registerPipelined();
#ifdef SCCL_ENABLE_MLIR
  bench::registerExchange();
  bench::registerLowering();
  bench::registerPlans();
#endif
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr, "peak memory: %ld MiB\n", usage.ru_maxrss / 1024);
  return bench::failures() == 0 ? 0 : 1;
}
