//===- ExplainSum.cpp - How an element is added up ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisedPrograms.h"
#include "Explain.h"
#include "Output.h"
#include "Plans.h"
#include "SumReport.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/Analysis/SumTrace.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Plan/SizeTables.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;

namespace {
/// A program, and what is said of it.
struct SubjectProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
  LoweringOptions lowering;
  bool roundsOnce = contractFor(lowering).roundsOnce; ///< see SumContract
};

/// Where an element of an output is.
struct ElementPlace {
  unsigned rank, chunk;
};
} // namespace

/// The program that is taken for the size.
static std::optional<SubjectProgram> choose(const SumRequest &request,
                                            const AdvisedPrograms &advised,
                                            LoweringOptions options) {
  unsigned number = choiceFor(advised.table, double(request.bytes))->program;
  const std::optional<SourceProgram> &source = advised.programs[number];
  if (!source) {
    fail(request.path + " does not hold the schedule of program " +
         llvm::Twine(number));
    return std::nullopt;
  }
  SubjectProgram chosen{lowerAs(source->schedule, source->way, options),
                        source->name + ", " + describe(source->way), options};
  return chosen.module ? std::optional(std::move(chosen)) : std::nullopt;
}

/// The one schedule or program of a file that says nothing of sizes.
static std::optional<SubjectProgram> lowerOnly(const SumRequest &request,
                                               AdvisedPrograms &files) {
  if (files.modules.size() != 1) {
    fail("--sum is of one schedule, and " + request.path + " has " +
         llvm::Twine(files.modules.size()) +
         " files that say nothing of sizes");
    return std::nullopt;
  }
  SubjectProgram only{std::move(files.modules.front()), request.path,
                      request.lowering};
  if (failed(runPasses(*only.module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, request.lowering);
      })))
    return std::nullopt;
  auto programs = only.module->getOps<coll::ProgramOp>();
  if (llvm::hasSingleElement(programs))
    return only;
  fail("--sum is of one schedule or program, and " + request.path + " holds " +
       llvm::Twine(std::distance(programs.begin(), programs.end())));
  return std::nullopt;
}

/// The chunk that the element is in. Prints an error and returns nothing if
/// there is no such element.
static std::optional<ElementPlace> find(const SumRequest &request,
                                        const Collective &collective) {
  unsigned perSegment = collective.chunksPerSegment(), inputs = 0, rank = 0;
  unsigned ranks = collective.numRanks();
  for (unsigned sender = 0; sender < ranks; ++sender)
    inputs = std::max(inputs, collective.inputSlots(sender) / perSegment);
  if (request.rank)
    rank = *request.rank;
  else
    while (rank + 1 < ranks && collective.outputSlots(rank) == 0)
      ++rank;
  if (rank >= ranks) {
    fail("--sum is of rank " + llvm::Twine(rank) + ", and there are " +
         llvm::Twine(ranks));
    return std::nullopt;
  }
  uint64_t bytes = elementType(request.lowering.element).bytes;
  uint64_t segment = request.bytes / inputs / bytes; // elements
  uint64_t outputs = collective.outputSlots(rank) / perSegment;
  if (request.element >= segment * outputs) {
    fail("--sum is of element " + llvm::Twine(request.element) +
         ", and the output of rank " + llvm::Twine(rank) + " has " +
         llvm::Twine(segment * outputs) + " for " + formatBytes(request.bytes) +
         " in each send buffer");
    return std::nullopt;
  }
  uint64_t within = request.element % segment * bytes;
  uint64_t slot = request.element / segment * perSegment +
                  within / chunkStride(segment * bytes, perSegment);
  return ElementPlace{rank, collective.post().chunksOf(rank)[slot]};
}

/// Ranks that add up alike, by the text of the tree, in the order of the first.
static std::vector<std::pair<std::string, std::vector<unsigned>>>
alikeOf(const coll::SumTrace &trace, const SumRequest &request,
        bool roundsOnce) {
  std::vector<std::pair<std::string, std::vector<unsigned>>> alike;
  for (auto [rank, node] : trace.ends()) {
    if (request.rank && rank != *request.rank)
      continue;
    std::string text = trace.toString(node, roundsOnce);
    auto known =
        llvm::find_if(alike, [&](auto &group) { return group.first == text; });
    if (known == alike.end())
      known = alike.insert(known, {text, {}});
    known->second.push_back(rank);
  }
  return alike;
}

/// The additions that `ranks` end with, in the order of their steps.
static std::vector<uint32_t> additionsFor(const coll::SumTrace &trace,
                                          llvm::ArrayRef<unsigned> ranks) {
  std::vector<uint32_t> all;
  for (unsigned rank : ranks)
    llvm::append_range(all, trace.additionsOf(trace.ends().at(rank)));
  llvm::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  llvm::stable_sort(all, [&](uint32_t a, uint32_t b) {
    return std::tuple(trace.node(a).step, trace.node(a).rank) <
           std::tuple(trace.node(b).step, trace.node(b).rank);
  });
  return all;
}

namespace {
/// The errors of a program, if it has some.
struct ProgramErrors {
  std::optional<coll::SumErrors> all;
  ElementType element;
  Reduction reduction;

  ProgramErrors(coll::ProgramOp program, const Collective &collective,
                const LoweringOptions &lowering)
      : element(elementType(lowering.element)), reduction(lowering.reduction) {
    if (hasErrors(collective, lowering))
      all.emplace(program, collective, element, reduction);
  }
  std::string text(const coll::SumError &error) const {
    return error.toString(element, reduction);
  }
};

/// What is said of one element.
struct ExplainedSum {
  const SumRequest &request;
  const SubjectProgram &subject;
  const Collective &collective;
  unsigned chunk;
  const coll::SumTrace &trace;
  const ProgramErrors &errors;

  void print() const;
  void print(const std::string &tree, llvm::ArrayRef<unsigned> ranks) const;
  void printJson(const std::string &tree, llvm::ArrayRef<unsigned> ranks) const;
  /// Of ranks that add up alike.
  std::optional<coll::SumError> errorOn(unsigned rank) const {
    if (!errors.all)
      return std::nullopt;
    return errors.all->at(rank, *collective.outputSlot(rank, chunk));
  }
};
} // namespace

void ExplainedSum::print(const std::string &tree,
                         llvm::ArrayRef<unsigned> ranks) const {
  out() << "  " << tree << " on rank" << (ranks.size() > 1 ? "s " : " ")
        << llvm::join(
               llvm::map_range(
                   ranks, [](unsigned rank) { return std::to_string(rank); }),
               ", ")
        << '\n';
  for (uint32_t number : additionsFor(trace, ranks)) {
    const coll::SumTrace::Node &node = trace.node(number);
    out() << llvm::formatv("    step {0}, rank {1}: {2}\n", node.step,
                           node.rank,
                           trace.toString(number, subject.roundsOnce));
  }
  if (std::optional<coll::SumError> error = errorOn(ranks.front()))
    out() << "    " << errors.text(*error) << '\n';
}

void ExplainedSum::printJson(const std::string &tree,
                             llvm::ArrayRef<unsigned> ranks) const {
  llvm::json::Array additions;
  for (uint32_t number : additionsFor(trace, ranks)) {
    const coll::SumTrace::Node &node = trace.node(number);
    additions.push_back(llvm::json::Object{
        {"step", node.step},
        {"rank", node.rank},
        {"sum", trace.toString(number, subject.roundsOnce)}});
  }
  llvm::json::Object object{{"program", subject.name},
                            {"element", int64_t(request.element)},
                            {"chunk", chunk},
                            {"ranks", llvm::json::Array(ranks)},
                            {"tree", tree},
                            {"additions", std::move(additions)}};
  if (std::optional<coll::SumError> error = errorOn(ranks.front())) {
    addError(*error, object);
    object["largest_sum_error_bound"] = errors.all->worst().relative;
  }
  llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
}

void ExplainedSum::print() const {
  if (!request.json)
    out() << subject.name << ": element " << request.element << ", in chunk "
          << chunk << '\n';
  for (const auto &[tree, ranks] : alikeOf(trace, request, subject.roundsOnce))
    if (request.json)
      printJson(tree, ranks);
    else
      print(tree, ranks);
  if (errors.all && !request.json)
    out() << "  every element is " << errors.text(errors.all->worst()) << '\n';
}

int driver::explainSum(const SumRequest &request) {
  bool isPlan = isPlanFile(request.path);
  std::optional<AdvisedPrograms> advised =
      isPlan ? loadPlanPrograms(request.path)
             : loadAdvised(request.path, /*placement=*/nullptr);
  if (!advised)
    return BadInput;
  std::optional<SubjectProgram> subject =
      advised->programs.empty()
          ? lowerOnly(request, *advised)
          : choose(request, *advised,
                   isPlan ? advised->lowering : request.lowering);
  if (!subject)
    return BadInput;
  coll::ProgramOp program = *subject->module->getOps<coll::ProgramOp>().begin();
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(program);
  if (failed(problem))
    return BadInput;
  const Collective &collective = problem->collective;
  std::optional<ElementPlace> place = find(request, collective);
  if (!place)
    return BadInput;
  ExplainedSum{request,
               *subject,
               collective,
               place->chunk,
               {program, collective, place->chunk},
               {program, collective, subject->lowering}}
      .print();
  return Done;
}
