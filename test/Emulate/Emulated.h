//===- Emulated.h - Schedules as code that is executed ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EMULATE_EMULATED_H
#define SCCL_TEST_EMULATE_EMULATED_H

#include "Measure/TestData.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Emulate/PlanRun.h"
#include "sccl/Measure/PlanRank.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/Instance.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/PlanBuilder.h"
#include "sccl/Solver/Solver.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <optional>

namespace sccl::test {

/// A schedule, and the collective that it implements.
struct Subject {
  Topology topology;
  Implementation implementation;
};

/// Nothing if the solver finds none.
inline std::optional<Subject> synthesized(const Instance &instance) {
  SynthesisResult result = synthesize(instance, SolverOptions());
  if (auto *satisfied = std::get_if<Satisfied>(&result.outcome))
    return Subject{instance.topology,
                   {instance.collective, satisfied->schedule}};
  return std::nullopt;
}

inline std::optional<Subject> synthesized(const std::string &name,
                                          CollectiveKind kind, unsigned chunks,
                                          unsigned steps, unsigned rounds) {
  Result<Topology> topology = makeBuiltinTopology(name);
  Result<Collective> collective =
      Collective::make(kind, topology->numRanks(), chunks);
  return synthesized(*Instance::make(*topology, *collective, steps, rounds));
}

/// A plan, with its text.
struct Compiled {
  plan::Plan plan;
  Collective collective;

  const plan::KernelInfo &kernel() const {
    return plan.manifest.kernels.back();
  }
  const plan::KernelInfo &kernelFor(const std::string &element,
                                    const std::string &reduction) const {
    for (const plan::KernelInfo &kernel : plan.manifest.kernels)
      if (kernel.element == element && kernel.reduction == reduction)
        return kernel;
    return kernel();
  }
  const std::string &text() const { return plan.blobs[kernel().blob]; }
  bool isInPlace() const { return plan.manifest.programs.back().inPlace; }
};

inline std::optional<Compiled> compile(const Subject &subject,
                                       const LoweringOptions &options,
                                       std::vector<Element> elements,
                                       std::vector<Reduction> reductions,
                                       const std::string &target = "sm_90") {
  registerPipelinePasses();
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = coll::exportModule(context, "row", subject.topology,
                                   subject.implementation.collective,
                                   subject.implementation.schedule);
  PlanRequest request;
  request.targets = {target};
  request.asText = true;
  request.elements = std::move(elements);
  request.reductions = std::move(reductions);
  request.blocks = {options.blocksPerLink};
  request.shapes = {options.codeShape};
  request.lowering = options;
  PlanBuilder builder(std::move(request));
  if (failed(builder.addAsGiven(*module)))
    return std::nullopt;
  plan::Plan plan = builder.finish();
  if (plan.manifest.kernels.empty())
    return std::nullopt;
  Result<Collective> collective = collectiveOf(plan.manifest);
  return Compiled{std::move(plan), std::move(*collective)};
}

/// Code for the one type and reduction that the options name.
inline std::optional<Compiled> compile(const Subject &subject,
                                       const LoweringOptions &options,
                                       const std::string &target = "sm_90") {
  return compile(subject, options, {options.element}, {options.reduction},
                 target);
}

/// One text for all types that can be, and all reductions.
inline std::optional<Compiled> compileAll(const Subject &subject,
                                          const LoweringOptions &options,
                                          const std::string &target = "sm_90") {
  std::vector<Element> elements;
  for (const ElementType &type : elementTypes())
    if (!options.ll || type.bytes <= 4)
      elements.push_back(type.id);
  return compile(subject, options, std::move(elements),
                 {reductions().begin(), reductions().end()}, target);
}

/// What came of an execution.
struct Executed {
  emulate::RunReport report;
  uint64_t elements = 0, wrong = 0;
  std::string firstWrong;

  bool isRight() const { return wrong == 0 && report.findings.empty(); }
  bool has(emulate::FindingKind kind) const {
    for (const emulate::Finding &finding : report.findings)
      if (finding.kind == kind)
        return true;
    return false;
  }
  std::string str() const {
    std::string text = firstWrong;
    for (const emulate::Finding &finding : report.findings)
      text +=
          std::string("\n") + toString(finding.kind) + ": " + finding.message;
    return text;
  }
};

/// How a program is executed.
struct Request {
  std::vector<uint64_t> elements; ///< of a segment, by launches in turns
  ElementType element = *findElementType("f32");
  Reduction reduction = Reduction::Sum;
  emulate::RunRequest request;
};

/// Executes `code`, which is the text of `compiled` or a mutant of it; the
/// kernel for the type and reduction that `execution` names.
inline Executed execute(const Compiled &compiled, const emulate::Code &code,
                        Request execution) {
  Executed outcome;
  emulate::RunRequest &request = execution.request;
  std::vector<TestData> data;
  SumOrder order = *SumOrder::parse(compiled.plan.manifest.sumOrder);
  for (uint64_t elements : execution.elements) {
    uint64_t bytes = elements * execution.element.bytes;
    request.segmentBytes.push_back(bytes);
    data.emplace_back(compiled.collective, execution.element,
                      execution.reduction, bytes, order);
  }
  request.reduction =
      reductionNumber(execution.element.number, unsigned(execution.reduction));
  emulate::RunData callbacks;
  callbacks.fill = [&](unsigned rank, unsigned launch, void *input) {
    data[launch % data.size()].fillInput(rank, launch, input);
  };
  callbacks.compare = [&](unsigned rank, unsigned launch, const void *output) {
    OutputComparison comparison =
        data[launch % data.size()].compareOutput(rank, launch, output);
    outcome.elements += comparison.elements;
    outcome.wrong += comparison.wrong;
    if (outcome.firstWrong.empty() && comparison.wrong != 0)
      outcome.firstWrong = "launch " + std::to_string(launch) + ", rank " +
                           std::to_string(rank) + ": " + comparison.first;
  };
  Result<emulate::RunReport> report = emulate::runPlan(
      code, compiled.plan,
      compiled.kernelFor(execution.element.name, toString(execution.reduction)),
      request, callbacks);
  if (report)
    outcome.report = std::move(*report);
  else
    ADD_FAILURE() << report.error();
  return outcome;
}

} // namespace sccl::test

#endif // SCCL_TEST_EMULATE_EMULATED_H
