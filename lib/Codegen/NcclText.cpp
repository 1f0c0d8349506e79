//===- NcclText.cpp - LLVM IR that calls NCCL's device functions ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleContents.h"

#include "sccl/Codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace sccl;

/// The text of a module, from its bitcode.
static FailureOr<std::string> textOf(ModuleOp module, StringRef bitcode) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> parsed = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "kernels"), context);
  if (!parsed)
    return module.emitError() << "cannot read the bitcode of kernels: "
                              << llvm::toString(parsed.takeError());
  std::string text;
  llvm::raw_string_ostream(text) << **parsed;
  return text;
}

FailureOr<std::string> sccl::compileForNccl(ModuleOp module,
                                            const LoweringOptions &options,
                                            unsigned ranksPerBox) {
  // Text serves all chips; this one is the first for which the vendor says that
  // all of GIN is there.
  Result<Chip> chip = findChip("sm_90");
  if (!chip)
    return module.emitError(chip.error());
  if (std::optional<std::string> mistake = findNcclMistake(options, *chip))
    return module.emitError(*mistake);
  if (failed(checkContents(module)) ||
      failed(runPasses(module, [&](OpPassManager &manager) {
        addNcclLowering(manager, options);
        addNcclConversion(manager, options, *chip, ranksPerBox);
      })))
    return failure();
  FailureOr<std::string> bitcode = serialize(module, "llvm");
  if (failed(bitcode))
    return failure();
  return textOf(module, *bitcode);
}
