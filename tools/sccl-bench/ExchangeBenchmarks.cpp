//===- ExchangeBenchmarks.cpp - Files of other tools ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Model/Baselines.h"
#include "sccl/Pipelines/Ways.h"

using namespace sccl;
using namespace sccl::bench;
using namespace sccl::exchange;

static std::string firstOf(const Findings &findings) {
  return findings.empty() ? "" : findings.first().front().message;
}

namespace {
struct Lowered {
  Collective collective;
  Program program;
};
} // namespace

/// The ring all_gather on all ranks of a ring, both ways round.
static Lowered makeRings(unsigned ranks) {
  Topology ring = unwrap(makeBuiltinTopology("ring:" + std::to_string(ranks)));
  Implementation made = unwrap(makeRingBaseline(
      ring, unwrap(findRings(ring)), CollectiveKind::AllGather, 1, 0));
  mlir::MLIRContext context;
  auto module = coll::exportModule(context, "rings", ring, made.collective,
                                   made.schedule);
  mlir::FailureOr<Program> program =
      programOf(*module->getOps<coll::ScheduleOp>().begin(), {});
  if (failed(program))
    die("no program of " + ring.name());
  return {made.collective, std::move(*program)};
}

/// check/FORMAT/RANKS: to read and check a file. The name says its size.
static void addMscclCheck(unsigned ranks) {
  Lowered made = makeRings(ranks);
  MscclExportOptions options;
  options.dialect = MscclDialect::Original;
  std::string text =
      printMsccl(unwrap(toMsccl(made.collective, made.program, options)));
  std::string size = std::to_string(text.size() / 1000) + "kB";
  add("check/msccl-xml/" + std::to_string(ranks) + "/" + size, [text] {
    Findings findings;
    auto algorithm = parseMsccl(text, findings);
    MscclCheckOptions check;
    check.dialect = MscclDialect::Original;
    if (algorithm)
      (void)checkMsccl(*algorithm, check, findings);
    return firstOf(findings);
  });
}

static void addMscclppCheck(unsigned ranks, bool usesLL) {
  Lowered made = makeRings(ranks);
  MscclppExportOptions options;
  options.usesLL = usesLL;
  std::string text =
      printMscclpp(unwrap(toMscclpp(made.collective, made.program, options)));
  std::string size = std::to_string(text.size() / 1000) + "kB";
  add("check/mscclpp-json/" + std::to_string(ranks) +
          (usesLL ? "/ll/" : "/simple/") + size,
      [text] {
        Findings findings;
        auto plan = parseMscclpp(text, findings);
        if (plan)
          (void)checkMscclpp(*plan, {}, findings);
        return firstOf(findings);
      });
}

void bench::registerExchange() {
  for (unsigned ranks : {16, 64, 128})
    addMscclCheck(ranks);
  for (unsigned ranks : {16, 64}) {
    addMscclppCheck(ranks, false);
    addMscclppCheck(ranks, true);
  }
}
