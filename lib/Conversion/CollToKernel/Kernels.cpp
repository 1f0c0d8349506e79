//===- Kernels.cpp - The kernels and tables of a program ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Conversion/Kernels.h"

#include "ProgramConverter.h"
#include "TableEncoder.h"
#include "TableKernel.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Conversion/RankTables.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sccl;
using coll::ProgramConverter;

/// The numbers of channels of ranks 0 to r.
static std::vector<uint32_t> channelEndsOf(const ProgramInfo &info, bool host) {
  std::vector<uint32_t> ends;
  for (const RankNeeds &rank : info.ranks)
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   (host ? 1 : rank.channels));
  return ends;
}

namespace {
/// Turns kernels into tables. Different threads may encode different ranks.
class Tabulation {
public:
  Tabulation(collk::ProgramOp program, std::vector<uint32_t> channelEnds)
      : program(program), channelEnds(std::move(channelEnds)),
        tables(program.getRanks()), features(program.getRanks()) {}

  /// Encodes and erases the kernels of `rank`, which are in `holder`.
  void encode(unsigned rank, collk::ProgramOp holder) {
    collk::TableEncoder encoder(program, channelEnds);
    for (auto kernel : llvm::make_early_inc_range(
             holder.getBody().getOps<collk::KernelOp>())) {
      if (kernel.getRank() != rank)
        continue;
      features[rank].note(kernel);
      collk::TableOp table = collk::makeTable(kernel);
      assert(succeeded(verify(table)) && "the conversion makes what is wrong");
      encoder.add(table);
      table.erase();
    }
    tables[rank] = encoder.bytes();
  }

  /// Adds the kernels that execute the tables, and returns those, by rank.
  std::vector<std::string> finish(unsigned steps) {
    collk::TableFeatures all;
    for (const collk::TableFeatures &some : features)
      all.merge(some);
    collk::createTableKernels(program, all, steps);
    return std::move(tables);
  }

private:
  collk::ProgramOp program;
  std::vector<uint32_t> channelEnds;
  std::vector<std::string> tables;            ///< by rank
  std::vector<collk::TableFeatures> features; ///< likewise
};
} // namespace

/// Makes kernels of ranks, and tables of those at once.
static void emitTables(ProgramConverter &converter, coll::ProgramOp program,
                       Tabulation &tabulation) {
  coll::forEachRankApart(program, [&](coll::RankOp rank) {
    OpBuilder builder(program.getContext());
    OwningOpRef<collk::ProgramOp> kernels = converter.createProgram(builder);
    converter.emit(rank, *kernels);
    tabulation.encode(rank.getRank(), *kernels);
  });
}

FailureOr<Kernels> sccl::makeKernels(coll::ProgramOp program,
                                     CodeShapeChoice shape, bool host,
                                     bool traced, bool unweighted) {
  if (traced && shape == CodeShapeChoice::Table)
    return program.emitOpError("cannot be traced as a table");
  program.getContext()
      ->loadDialect<arith::ArithDialect, scf::SCFDialect,
                    collk::CollKernelDialect>();
  FailureOr<coll::Problem> problem = coll::importProblem(program);
  if (failed(problem))
    return failure();
  FailureOr<std::unique_ptr<ProgramConverter>> converter =
      ProgramConverter::make(program, problem->collective, host, traced,
                             unweighted);
  if (failed(converter))
    return failure();
  const ProgramInfo &info = (*converter)->info();
  Kernels kernels;
  kernels.info = info;
  kernels.module = ModuleOp::create(program.getLoc());
  auto builder = OpBuilder::atBlockEnd(kernels.module->getBody());
  collk::ProgramOp made = (*converter)->createProgram(builder);
  Tabulation tabulation(made, channelEndsOf(info, host));
  bool isAuto = shape == CodeShapeChoice::Auto && !traced;
  if (shape == CodeShapeChoice::Table ||
      (isAuto && collk::isBetterAsTables(info.ranks.size()))) {
    emitTables(**converter, program, tabulation);
    kernels.tables = tabulation.finish(info.steps);
    return kernels;
  }
  for (auto rank : program.getBody().getOps<coll::RankOp>())
    (*converter)->emit(rank, made);
  if (isAuto && collk::isBetterAsTables(made)) {
    for (unsigned rank = 0; rank < info.ranks.size(); ++rank)
      tabulation.encode(rank, made);
    kernels.tables = tabulation.finish(info.steps);
  }
  if (traced && !host)
    kernels.traceTables = rankTables(made);
  return kernels;
}
