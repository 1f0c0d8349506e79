//===- sccl-translate.cpp - Schedules to and from other formats -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Codegen/Target.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Exchange/Chakra.h"
#include "sccl/Exchange/Forest.h"
#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Exchange/NcclGraph.h"
#include "sccl/Exchange/Teccl.h"
#include "sccl/Options/Help.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/TextLimits.h"
#include "sccl/Pipelines/Ways.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
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

/// Parses and verifies the input; nothing after an error.
static mlir::OwningOpRef<mlir::ModuleOp>
parseInput(const std::shared_ptr<llvm::SourceMgr> &source,
           mlir::MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      source->getMemoryBuffer(source->getMainFileID());
  if (!sccl::checkText(*buffer))
    return nullptr;
  mlir::DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  context->appendDialectRegistry(registry);
  // The source line says it better than the generic form of the op.
  context->printOpOnDiagnostic(false);
  return mlir::parseSourceFile<mlir::ModuleOp>(source, context);
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
        auto module = parseInput(source, context);
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

/// Registers --import-FORMAT and --export-FORMAT.
static void registerFormats() {
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

static llvm::cl::opt<std::string>
    chip("chip",
         llvm::cl::desc("Chip to compile for (default: that of kernels, "
                        "else sm_90 or gfx942)"));
static llvm::cl::opt<unsigned>
    blocks("blocks-per-link", llvm::cl::desc("Thread blocks for each link"),
           llvm::cl::init(1));

/// Registers --NAME, which writes `kind` for `chip` or else for `fallback`.
static void registerOutput(llvm::StringRef name, llvm::StringRef description,
                           sccl::OutputKind kind, llvm::StringRef fallback) {
  mlir::TranslateRegistration(
      name, description,
      [kind, fallback](const std::shared_ptr<llvm::SourceMgr> &source,
                       llvm::raw_ostream &stream, mlir::MLIRContext *context) {
        mlir::OwningOpRef<mlir::ModuleOp> module = parseInput(source, context);
        if (!module)
          return mlir::failure();
        std::optional<std::string> loweredFor = sccl::chipOfKernels(*module);
        if (loweredFor && blocks.getNumOccurrences())
          return llvm::LogicalResult(module->emitError(
              "--blocks-per-link is for schedules, and this is lowered"));
        sccl::Result<sccl::Chip> target =
            sccl::findChip(chip.empty() ? loweredFor.value_or(fallback.str())
                                        : chip.getValue());
        if (!target)
          return llvm::LogicalResult(module->emitError(target.error()));
        sccl::LoweringOptions options;
        options.blocksPerLink = blocks;
        mlir::FailureOr<std::string> bytes =
            sccl::compileFor(*module, *target, kind, options);
        if (mlir::succeeded(bytes))
          stream << *bytes;
        return llvm::LogicalResult(bytes);
      });
}

int main(int argc, char **argv) {
  sccl::registerPipelinePasses();
  using enum sccl::OutputKind;
  registerOutput("coll-to-ptx", "Schedule or kernels to PTX", PTX, "sm_90");
  registerOutput("coll-to-cubin", "Schedule or kernels to cubin", Cubin,
                 "sm_90");
  registerOutput("coll-to-fatbin", "Schedule or kernels to fatbin", Fatbin,
                 "sm_90");
  registerOutput("coll-to-gcn", "Schedule or kernels to GCN assembly", GCN,
                 "gfx942");
  registerOutput("coll-to-hsaco", "Schedule or kernels to HSACO", HSACO,
                 "gfx942");
  registerFormats();
  sccl::hideForeignOptions({"chip", "blocks-per-link", "root", "ranks-per-box",
                            "use-ll", "rank", "bytes"});
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "sccl translator\n"));
}
