//===- Formats.cpp - Translations of other tools' files -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formats.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Exchange/Chakra.h"
#include "sccl/Exchange/Forest.h"
#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Exchange/NcclGraph.h"
#include "sccl/Exchange/Teccl.h"
#include "sccl/Pipelines/Ways.h"

#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace sccl;
using namespace sccl::exchange;
namespace cl = llvm::cl;

static cl::opt<unsigned>
    root("root", cl::desc("Of --import-msccl and --import-mscclpp: the root"),
         cl::init(0));
static cl::opt<unsigned>
    ranksPerBox("ranks-per-box",
                cl::desc("Of --export-mscclpp: ranks that reach each other's "
                         "memory (default: all)"),
                cl::init(0));
static cl::opt<bool>
    usesLL("use-ll",
           cl::desc("Of --export-mscclpp: LL words in place of "
                    "signals"),
           cl::init(false));
static cl::opt<unsigned>
    traceRank("rank", cl::desc("Of --export-chakra: whose trace"), cl::init(0));
static cl::opt<uint64_t>
    traceBytes("bytes", cl::desc("Of --export-chakra: bytes of a send buffer"),
               cl::init(1 << 20));

//===----------------------------------------------------------------------===//
// In
//===----------------------------------------------------------------------===//

static std::optional<FoundSchedule> fromResult(Result<FoundSchedule> found,
                                               Findings &findings) {
  if (found)
    return std::move(*found);
  findings.add({}, found.error());
  return std::nullopt;
}

static std::optional<FoundSchedule> importMsccl(std::string_view text,
                                                Findings &findings) {
  auto algorithm = parseMsccl(text, findings);
  MscclCheckOptions options;
  options.root = root;
  if (!algorithm || !checkMsccl(*algorithm, options, findings))
    return std::nullopt;
  return fromResult(fromMsccl(*algorithm, options), findings);
}

static std::optional<FoundSchedule> importMscclpp(std::string_view text,
                                                  Findings &findings) {
  auto plan = parseMscclpp(text, findings);
  MscclppCheckOptions options;
  options.root = root;
  if (!plan || !checkMscclpp(*plan, options, findings))
    return std::nullopt;
  return fromResult(fromMscclpp(*plan, options), findings);
}

/// Registers --import-NAME, which makes a schedule of what `read` finds.
static void registerImport(
    llvm::StringRef name, llvm::StringRef description,
    std::optional<FoundSchedule> (*read)(std::string_view, Findings &)) {
  mlir::TranslateToMLIRRegistration(
      name, description,
      [read](llvm::SourceMgr &source, mlir::MLIRContext *context)
          -> mlir::OwningOpRef<mlir::Operation *> {
        const llvm::MemoryBuffer *buffer =
            source.getMemoryBuffer(source.getMainFileID());
        Findings findings;
        std::optional<FoundSchedule> found =
            read(buffer->getBuffer(), findings);
        for (const Finding &finding : findings.first())
          mlir::emitError(mlir::FileLineColLoc::get(
              context, buffer->getBufferIdentifier(), finding.place.line,
              finding.place.column))
              << finding.message;
        if (!found)
          return nullptr;
        for (const std::string &note : found->notes)
          mlir::emitRemark(mlir::FileLineColLoc::get(
              context, buffer->getBufferIdentifier(), 1, 1))
              << note;
        auto module = coll::exportModule(
            *context, collectiveName(found->collective.kind()), found->topology,
            found->collective, found->schedule, "");
        return mlir::OwningOpRef<mlir::Operation *>(module.release());
      },
      [](mlir::DialectRegistry &registry) {
        registry.insert<coll::CollDialect>();
      });
}

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

using Writer = Result<std::string> (*)(const std::string &name,
                                       const Collective &collective,
                                       const Program &program);

static Result<std::string> exportMsccl(const std::string &name,
                                       const Collective &collective,
                                       const Program &program) {
  MscclExportOptions options;
  options.name = name;
  auto algorithm = toMsccl(collective, program, options);
  if (!algorithm)
    return Error{algorithm.error()};
  return printMsccl(*algorithm);
}

static Result<std::string> exportMscclpp(const std::string &name,
                                         const Collective &collective,
                                         const Program &program) {
  MscclppExportOptions options;
  options.name = name;
  options.usesLL = usesLL;
  options.ranksPerBox = ranksPerBox;
  auto plan = toMscclpp(collective, program, options);
  if (!plan)
    return Error{plan.error()};
  return printMscclpp(*plan);
}

static Result<std::string> exportChakra(const std::string &,
                                        const Collective &collective,
                                        const Program &program) {
  auto traces = toChakra(collective, program, traceBytes);
  if (!traces)
    return Error{traces.error()};
  if (traceRank >= traces->size())
    return Error{"rank " + std::to_string(traceRank) + " of " +
                 std::to_string(traces->size())};
  return (*traces)[traceRank];
}

/// Registers --export-NAME, which writes the only schedule of a module, for
/// which `write` returns a text.
template <typename Write>
static void registerSchedule(llvm::StringRef name, llvm::StringRef description,
                             Write write) {
  mlir::TranslateRegistration(
      name, description,
      [write](const std::shared_ptr<llvm::SourceMgr> &source,
              llvm::raw_ostream &stream, mlir::MLIRContext *context) {
        auto module = translate::parseInput(source, context);
        if (!module)
          return llvm::failure();
        auto schedules = module->getOps<coll::ScheduleOp>();
        if (!llvm::hasSingleElement(schedules))
          return llvm::LogicalResult(
              module->emitError("expected one schedule"));
        coll::ScheduleOp op = *schedules.begin();
        mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
        if (failed(problem))
          return llvm::failure();
        mlir::FailureOr<Result<std::string>> text =
            write(op, problem->collective);
        if (failed(text))
          return llvm::failure();
        if (!*text)
          return llvm::LogicalResult(op.emitError(text->error()));
        stream << **text;
        return llvm::success();
      });
}

/// The same of the program that the schedule becomes, in the way that it names
/// for the largest size.
static void registerExport(llvm::StringRef name, llvm::StringRef description,
                           Writer write) {
  registerSchedule(name, description,
                   [write](coll::ScheduleOp op, const Collective &collective)
                       -> mlir::FailureOr<Result<std::string>> {
                     mlir::FailureOr<Program> program =
                         programOf(op, wayForLargest(coll::importWays(op)));
                     if (failed(program))
                       return mlir::failure();
                     return write(op.getSymName().str(), collective, *program);
                   });
}

static mlir::FailureOr<Result<std::string>>
exportNcclGraph(coll::ScheduleOp op, const Collective &collective) {
  return toNcclGraph(collective, coll::importSchedule(op),
                     /*gigabytesPerSecond=*/20);
}

void translate::registerFormats() {
  registerImport("import-msccl", "MSCCL XML to a schedule", &importMsccl);
  registerImport("import-mscclpp", "Plan of MSCCL++ to a schedule",
                 &importMscclpp);
  registerImport("import-teccl", "Schedule of TE-CCL", &parseTeccl);
  registerImport("import-forestcoll", "Trees of ForestColl to a schedule",
                 &parseForest);
  registerExport("export-msccl", "Schedule to MSCCL XML", &exportMsccl);
  registerExport("export-mscclpp", "Schedule to a plan of MSCCL++",
                 &exportMscclpp);
  registerExport("export-chakra", "Schedule to the Chakra trace of a rank",
                 &exportChakra);
  registerSchedule("export-nccl-graph", "Rings of a schedule to NCCL graph XML",
                   &exportNcclGraph);
}
