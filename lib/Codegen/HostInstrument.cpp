//===- HostInstrument.cpp - Host code for tests ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostInstrument.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/HostSteps.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace sccl;

/// What a call does; nothing if it is no call of a helper.
static std::optional<HostStep> stepOf(const llvm::Instruction &instruction) {
  if (llvm::isa<llvm::ReturnInst>(instruction))
    return HostStep::Return;
  auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
  if (!callee || !callee->getName().starts_with(helper::prefix))
    return std::nullopt;
  llvm::StringRef name = callee->getName();
  return name == helper::signal  ? HostStep::Signal
         : name == helper::wait  ? HostStep::Wait
         : name == helper::begin ? HostStep::Begin
         : name == helper::end   ? HostStep::End
                                 : HostStep::Payload;
}

void sccl::addStepCalls(llvm::Module &module) {
  llvm::IRBuilder<> builder(module.getContext());
  llvm::FunctionCallee before = module.getOrInsertFunction(
      hostStepFunction, builder.getInt32Ty(), builder.getInt32Ty(),
      builder.getPtrTy(), builder.getInt32Ty());
  llvm::SmallVector<std::pair<llvm::Instruction *, HostStep>> steps;
  for (llvm::Function &function : module)
    if (!function.getName().starts_with(helper::prefix))
      for (llvm::BasicBlock &block : function)
        for (llvm::Instruction &instruction : block)
          if (std::optional<HostStep> step = stepOf(instruction))
            steps.emplace_back(&instruction, *step);
  for (auto [instruction, step] : steps) {
    builder.SetInsertPoint(instruction);
    llvm::Value *kind = builder.getInt32(unsigned(step));
    if (step != HostStep::Signal && step != HostStep::Wait) {
      llvm::Value *none = llvm::ConstantPointerNull::get(builder.getPtrTy());
      builder.CreateCall(before, {kind, none, builder.getInt32(0)});
      continue;
    }
    // Both have the rows and their number first.
    auto *call = llvm::cast<llvm::CallInst>(instruction);
    llvm::Value *skips = builder.CreateCall(
        before, {kind, call->getArgOperand(0), call->getArgOperand(1)});
    llvm::Value *executes = builder.CreateIsNull(skips);
    llvm::Instruction *inside = llvm::SplitBlockAndInsertIfThen(
        executes, instruction->getIterator(), /*Unreachable=*/false);
    instruction->moveBefore(inside->getIterator());
  }
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeThread);
}

void sccl::addRaceChecks(llvm::ModulePassManager &passes) {
  passes.addPass(llvm::ModuleThreadSanitizerPass());
  passes.addPass(
      llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
}
