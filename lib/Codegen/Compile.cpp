//===- Compile.cpp - From schedules to device code ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUTargets.h"
#include "Linker.h"
#include "ModuleContents.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/RankTable.h"
#include "sccl/Assembly/Audit.h"
#include "sccl/Codegen/Target.h"
#include "sccl/Conversion/RankTables.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Model/Chip.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <string>

using namespace mlir;
using namespace sccl;
using llvm::raw_ostream;

/// Assembles `isa` for `chip` and links it with ld.lld of LLVM 22, which is
/// looked for in the LLVM sccl was built with and in PATH; needs no ROCm. Emits
/// an error on `module` and fails if the linker is missing or fails.
static FailureOr<std::string> linkHSACO(ModuleOp module, StringRef isa,
                                        StringRef chip) {
  auto emitError = [&] { return module.emitError(); };
  FailureOr<SmallVector<char, 0>> object =
      ROCDL::assembleIsa(isa, "amdgcn-amd-amdhsa", chip, "", emitError);
  if (failed(object))
    return failure();
  return linkSharedObject(module, StringRef(object->data(), object->size()),
                          /*options=*/{}, ", or write .s");
}

/// Prints the words [`first`, `last`) of `table`.
static void printWords(raw_ostream &stream, llvm::StringRef table, size_t first,
                       size_t last) {
  for (size_t word = first; word < last; ++word)
    stream << (word == first ? "" : ", ")
           << llvm::support::endian::read32le(table.data() + 4 * word);
}

static void printForNVIDIA(raw_ostream &stream, llvm::StringRef symbol,
                           llvm::StringRef table) {
  size_t words = table.size() / 4;
  stream << ".visible .global .align " << tableUnitBytes << " .b32 " << symbol
         << '[' << words << "] = {";
  printWords(stream, table, 0, words);
  stream << "};\n";
}

static void printForAMD(raw_ostream &stream, llvm::StringRef symbol,
                        llvm::StringRef table) {
  constexpr size_t unitWords = tableUnitBytes / 4;
  stream << "\t.type\t" << symbol << ",@object\n\t.data\n\t.globl\t" << symbol
         << "\n\t.balign\t" << tableUnitBytes << '\n'
         << symbol << ":\n";
  for (size_t word = 0; word < table.size() / 4; word += unitWords) {
    stream << "\t.long\t";
    printWords(stream, table, word, word + unitWords);
    stream << '\n';
  }
  stream << "\t.size\t" << symbol << ", " << table.size() << '\n';
}

/// Appends to `isa`, assembly for `chip`, the bytes of a table for each rank of
/// `program`, with the symbols that tableSymbol() says. LLVM would print and
/// read them again slowly: on NVIDIA byte by byte.
static void appendTables(std::string &isa, const Chip &chip,
                         llvm::StringRef program,
                         llvm::ArrayRef<std::string> tables) {
  llvm::raw_string_ostream stream(isa);
  for (unsigned rank = 0; rank < tables.size(); ++rank) {
    std::string symbol = tableSymbol(program, rank);
    if (chip.isNVIDIA())
      printForNVIDIA(stream, symbol, tables[rank]);
    else
      printForAMD(stream, symbol, tables[rank]);
  }
}

static bool isNVIDIAKind(OutputKind kind) {
  return kind == OutputKind::PTX || kind == OutputKind::Cubin ||
         kind == OutputKind::Fatbin;
}

/// True if MLIR will find `tool` of the CUDA toolkit: in PATH, or else in the
/// first toolkit that the environment names.
static bool findsTool(StringRef tool) {
  if (llvm::sys::findProgramByName(tool))
    return true;
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (const char *toolkit = std::getenv(variable)) {
      SmallString<128> path(toolkit);
      llvm::sys::path::append(path, "bin", tool);
      return llvm::sys::fs::can_execute(path);
    }
  return false;
}

/// Fails if `kind` cannot be made for `chip` on this machine.
static LogicalResult checkKind(ModuleOp module, const Chip &chip,
                               OutputKind kind) {
  bool isNVIDIA = chip.isNVIDIA();
  if (kind != OutputKind::MLIR && isNVIDIAKind(kind) != isNVIDIA)
    return module.emitError()
           << chip.name << " is an " << (isNVIDIA ? "NVIDIA" : "AMD")
           << " chip, whose outputs are "
           << (isNVIDIA ? ".ptx, .cubin, .fatbin" : ".s, .hsaco")
           << " and .mlir";
  bool assembles = kind == OutputKind::Cubin || kind == OutputKind::Fatbin;
  if (assembles && !chip.hasAssembler)
    return module.emitError()
           << "ptxas does not assemble for " << chip.name
           << "; write PTX, which the driver compiles when it loads it";
  for (StringRef tool : {"ptxas", "fatbinary"}) {
    bool isNeeded = tool == "ptxas" ? assembles : kind == OutputKind::Fatbin;
    if (isNeeded && !findsTool(tool))
      return module.emitError()
             << tool
             << " is neither in PATH nor in the folder bin of CUDA_ROOT, "
                "CUDA_HOME or CUDA_PATH; install the CUDA toolkit, or write "
                "PTX";
  }
  return success();
}

LogicalResult sccl::checkContents(ModuleOp module) {
  auto schedules = module.getOps<coll::ScheduleOp>();
  auto programs = module.getOps<coll::ProgramOp>();
  size_t count = std::distance(schedules.begin(), schedules.end()) +
                 std::distance(programs.begin(), programs.end());
  if (count == 1)
    return success();
  return module.emitError()
         << "holds " << count << " schedules and programs, expected one";
}

/// True if `kind` is assembly, or made of it without MLIR.
static bool isFromAssembly(OutputKind kind) {
  return kind == OutputKind::PTX || kind == OutputKind::GCN ||
         kind == OutputKind::HSACO;
}

/// The `format` of gpu-module-to-binary that `kind` is made from.
static StringRef binaryFormat(OutputKind kind) {
  return kind == OutputKind::Fatbin ? "fatbin" : "bin";
}

/// Lets code for an sm_90 that transfers through a switch be PTX 8.2, the first
/// version with all of its instructions. LLVM takes the oldest that has a chip,
/// and does not read inline PTX.
static void raiseVersion(gpu::GPUModuleOp kernels) {
  auto isSwitched = [](Operation &op) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    return name && name.getValue().contains(helper::switchSuffix);
  };
  if (!kernels.getTargets() || llvm::none_of(*kernels.getBody(), isSwitched))
    return;
  auto raised = [](Attribute target) -> Attribute {
    auto nvidia = dyn_cast<NVVM::NVVMTargetAttr>(target);
    if (!nvidia || nvidia.getChip() != "sm_90" || !nvidia.getFeatures().empty())
      return target;
    return NVVM::NVVMTargetAttr::get(
        target.getContext(), nvidia.getO(), nvidia.getTriple(),
        nvidia.getChip(), "+ptx82", nvidia.getFlags(), nvidia.getLink());
  };
  kernels.setTargetsAttr(
      ArrayAttr::get(kernels.getContext(),
                     llvm::map_to_vector(*kernels.getTargets(), raised)));
}

FailureOr<std::string> sccl::serialize(ModuleOp module, StringRef format) {
  llvm::for_each(module.getOps<gpu::GPUModuleOp>(), raiseVersion);
  if (failed(runPasses(module, [&](OpPassManager &manager) {
        addUpstream(manager, "gpu-module-to-binary{format=" + format + "}");
      })))
    return failure();
  auto binary = *module.getOps<gpu::BinaryOp>().begin();
  auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
  std::string bytes = object.getObject().getValue().str();
  // Assembly comes as a C string.
  if (format == "isa" && !bytes.empty() && bytes.back() == '\0')
    bytes.pop_back();
  return bytes;
}

/// Emits an error for each way in which `isa` breaks the flag protocol.
static LogicalResult audit(ModuleOp module, const Chip &chip, StringRef isa) {
  std::vector<AuditFinding> findings =
      chip.isNVIDIA() ? auditPTX(isa) : auditGCN(isa, chip.name);
  for (const AuditFault &fault : faultsOf(findings)) {
    InFlightDiagnostic error = module.emitError()
                               << "the back end broke the flag protocol for "
                               << chip.name << ": " << fault.first.str();
    if (!fault.others.empty())
      error.attachNote() << fault.countText();
  }
  return success(findings.empty());
}

/// Forgets CUDA folders of the environment that do not exist. MLIR reports them
/// as errors, even for PTX, which needs nothing from them.
static void forgetMissingToolkits() {
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (const char *path = std::getenv(variable))
      if (!llvm::sys::fs::is_directory(path))
        unsetenv(variable);
}

void sccl::prepareForThreads() {
  forgetMissingToolkits();
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
}

/// The assembly of the gpu.module in `module`, which it replaces, audited.
static FailureOr<std::string> assemble(ModuleOp module, const Chip &chip,
                                       const LoweringOptions &options) {
  FailureOr<std::string> isa = serialize(module, "isa");
  if (failed(isa) || (options.audit && failed(audit(module, chip, *isa))))
    return failure();
  return isa;
}

/// The output of the lowered gpu.module in `module`, of the collk.program
/// `program`, with the `tables` that it does not bring itself.
static FailureOr<std::string> writeKernels(ModuleOp module, const Chip &chip,
                                           OutputKind kind,
                                           const LoweringOptions &options,
                                           StringRef program = "",
                                           ArrayRef<std::string> tables = {}) {
  if (kind == OutputKind::MLIR) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }
  if (!isFromAssembly(kind)) {
    // A binary does not show its text, which is the same each time.
    OwningOpRef<ModuleOp> copy = module.clone();
    if (options.audit && failed(assemble(*copy, chip, options)))
      return failure();
    return serialize(module, binaryFormat(kind));
  }
  FailureOr<std::string> isa = assemble(module, chip, options);
  if (failed(isa))
    return failure();
  appendTables(*isa, chip, program, tables);
  if (kind == OutputKind::HSACO)
    return linkHSACO(module, *isa, chip.name);
  return isa;
}

std::optional<std::string> sccl::chipOfKernels(ModuleOp module) {
  if (!module.getOps<coll::ScheduleOp>().empty() ||
      !module.getOps<coll::ProgramOp>().empty() ||
      !llvm::hasSingleElement(module.getOps<gpu::GPUModuleOp>()))
    return std::nullopt;
  gpu::GPUModuleOp kernels = *module.getOps<gpu::GPUModuleOp>().begin();
  std::optional<ArrayAttr> targets = kernels.getTargets();
  if (!targets || targets->size() != 1)
    return std::nullopt;
  Attribute target = (*targets)[0];
  if (auto nvidia = dyn_cast<NVVM::NVVMTargetAttr>(target))
    return nvidia.getChip().str();
  if (auto amd = dyn_cast<ROCDL::ROCDLTargetAttr>(target))
    return amd.getChip().str();
  return std::nullopt;
}

FailureOr<std::string> sccl::compileFor(ModuleOp module, const Chip &chip,
                                        OutputKind kind,
                                        const LoweringOptions &options) {
  if (std::optional<std::string> own = chipOfKernels(module)) {
    if (failed(checkKind(module, chip, kind)))
      return failure();
    if (*own != chip.name)
      return module.emitError()
             << "holds kernels for " << *own << ", not for " << chip.name;
    forgetMissingToolkits();
    return writeKernels(module, chip, kind, options);
  }
  if (failed(checkKind(module, chip, kind)) || failed(checkContents(module)) ||
      failed(runPasses(module, [&](OpPassManager &manager) {
        addLowering(manager, options);
        addResidencyCheck(manager, options, chip);
        addKernelConversion(manager, options, /*host=*/false);
      })))
    return failure();
  return compileKernels(module, chip, kind, options, /*embedTables=*/true);
}

FailureOr<std::string> sccl::compileKernels(ModuleOp module, const Chip &chip,
                                            OutputKind kind,
                                            const LoweringOptions &options,
                                            bool embedTables,
                                            const ReductionSet &set) {
  forgetMissingToolkits();
  if (failed(checkKind(module, chip, kind)))
    return failure();
  std::string program;
  std::vector<std::string> tables;
  if (embedTables && isFromAssembly(kind)) {
    auto kernels = *module.getOps<collk::ProgramOp>().begin();
    program = kernels.getSymName();
    tables = rankTables(kernels);
    embedTables = false;
  }
  if (failed(runPasses(module, [&](OpPassManager &manager) {
        addKernelToGPU(manager, options, chip, embedTables, set);
      })))
    return failure();
  return writeKernels(module, chip, kind, options, program, tables);
}
