//===- PlanBenchmarks.cpp - Many ranks: from a question to a plan ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lower/...: a schedule that has been read becomes a checked program.
// plan/...: a question becomes the text of a schedule, and that a plan for a
// host, as with `sccl synth` and `sccl compile`.
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/PlanBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

using namespace sccl;
using namespace sccl::bench;

using Kind = CollectiveKind;

namespace {
/// What is asked for.
struct Question {
  const char *topology;
  Kind kind;
  unsigned chunks, steps, rounds;

  std::string name() const {
    return std::string(collectiveName(kind)) + "/" + topology;
  }
};
} // namespace

static std::unique_ptr<mlir::MLIRContext> makeContext() {
  registerPipelinePasses();
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// The text of a schedule, or an empty one.
static std::string synthesizeText(const Question &question) {
  Instance instance =
      bench::makeInstance(question.topology, question.kind, question.chunks,
                          question.steps, question.rounds);
  SynthesisResult result = synthesize(instance, SolverOptions());
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return "";
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = coll::exportModule(*context, "schedule", instance.topology,
                                   instance.collective, satisfied->schedule);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

static void addLowering(const Question &question) {
  addPrepared("lower/" + question.name(), [=] {
    auto text = std::make_shared<std::string>(synthesizeText(question));
    std::shared_ptr<mlir::MLIRContext> context = makeContext();
    return Body([=]() -> std::string {
      auto module =
          mlir::parseSourceString<mlir::ModuleOp>(*text, context.get());
      if (!module || failed(runPasses(*module, [](auto &manager) {
            sccl::addLowering(manager, LoweringOptions());
          })))
        return "cannot be lowered";
      return "";
    });
  });
}

/// The bytes of a plan for a host; empty if there is none.
static std::string makePlan(const std::string &text) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  PlanRequest request;
  request.targets = {"host"};
  request.variants = {"push"};
  request.generator = "sccl-bench";
  PlanBuilder builder(request);
  if (!module || failed(builder.add(*module)))
    return "";
  return unwrap(plan::serialize(builder.finish()));
}

static void addPlan(const Question &question) {
  add("plan/" + question.name(), [=]() -> std::string {
    std::string text = synthesizeText(question);
    if (text.empty())
      return "no schedule";
    std::string bytes = makePlan(text);
    std::fprintf(stderr, "plan/%s: %zu bytes of text, a plan of %zu bytes\n",
                 question.name().c_str(), text.size(), bytes.size());
    return bytes.empty() ? "no plan" : "";
  });
}

/// What each rank does when a plan is loaded: it reads the head and its own
/// part, with their hashes.
static void addRankLoading(const Question &question) {
  addPrepared("load_rank/" + question.name(), [=] {
    auto bytes =
        std::make_shared<std::string>(makePlan(synthesizeText(question)));
    return Body([=]() -> std::string {
      llvm::StringRef file = *bytes;
      Result<uint64_t> length =
          plan::headBytes(file.take_front(plan::prefixBytes), file.size());
      if (!length)
        return length.error();
      Result<plan::PlanView> view =
          plan::parseHead(file.take_front(*length), file.size());
      if (!view)
        return view.error();
      unsigned rank = view->manifest.ranks / 2;
      const plan::PartRange &range = view->parts[rank];
      Result<plan::RankPart> part =
          plan::readPart(*view, rank, file.substr(range.offset, range.bytes));
      return part ? "" : part.error();
    });
  });
}

void bench::registerPlans() {
  for (const Question &question :
       {Question{"mesh:16", Kind::AllGather, 1, 1, 1},
        {"mesh:64", Kind::AllGather, 1, 1, 1},
        {"torus:8x8", Kind::AllGather, 1, 8, 16},
        {"switch:72,8", Kind::AllGather, 1, 1, 9}})
    ::addLowering(question);
  addPlan({"mesh:64", Kind::AllGather, 1, 1, 1});
  addPlan({"hypercube:10", Kind::AllGather, 10, 10, 1023});
  addRankLoading({"mesh:64", Kind::AllGather, 1, 1, 1});
  addRankLoading({"hypercube:10", Kind::AllGather, 10, 10, 1023});
}
