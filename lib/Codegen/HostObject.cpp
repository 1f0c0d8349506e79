//===- HostObject.cpp - Programs as shared objects for CPUs ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostObject.h"

#include "Linker.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/HostSteps.h"
#include "sccl/ABI/KernelABI.h"
#include "sccl/ABI/TraceMark.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace mlir;
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

/// Adds calls of `hostStepFunction`, see HostSteps.h, before calls of helpers
/// and before kernels return. To be done before anything is inlined.
static void addStepCalls(llvm::Module &module) {
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

/// Has ThreadSanitizer told of every access to memory, of what `addStepCalls`
/// has seen. To be done after all optimization.
static void addRaceChecks(llvm::ModulePassManager &passes) {
  passes.addPass(llvm::ModuleThreadSanitizerPass());
  passes.addPass(
      llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
}

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(ModuleOp module,
                                                              StringRef cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError() << "LLVM cannot compile for " << triple.str() << ": "
                       << error;
    return nullptr;
  }
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    module.emitError() << "LLVM does not know the CPU '" << cpu << "' of "
                       << triple.str();
    return nullptr;
  }
  return machine;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     bool instrumented) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager passes =
      builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  if (instrumented)
    addRaceChecks(passes);
  passes.run(module, modules);
}

/// Lets whoever loads the object decide what waiting threads do between polls:
/// calls of sched_yield go through a variable, see KernelABI.h.
static void makeYieldReplaceable(llvm::Module &module) {
  llvm::Function *yield = module.getFunction("sched_yield");
  if (!yield)
    return;
  SmallVector<llvm::CallInst *> calls;
  for (llvm::User *user : yield->users())
    calls.push_back(cast<llvm::CallInst>(user));
  auto *hook = new llvm::GlobalVariable(
      module, yield->getType(), /*isConstant=*/false,
      llvm::GlobalValue::ExternalLinkage, yield, hostYieldVariable);
  for (llvm::CallInst *call : calls)
    call->setCalledOperand(new llvm::LoadInst(yield->getType(), hook, "yield",
                                              call->getIterator()));
}

/// Lets whoever loads the object be told of marks, see TraceMark.h.
static void defineMarkFunction(llvm::Module &module) {
  llvm::Function *mark = module.getFunction(markFunction);
  if (!mark)
    return;
  llvm::PointerType *pointer = llvm::PointerType::get(module.getContext(), 0);
  auto *hook = new llvm::GlobalVariable(
      module, pointer, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantPointerNull::get(pointer), traceVariable);
  mark->setLinkage(llvm::GlobalValue::InternalLinkage);
  auto block = [&](const char *name) {
    return llvm::BasicBlock::Create(module.getContext(), name, mark);
  };
  llvm::BasicBlock *entry = block("entry"), *told = block("told"),
                   *end = block("end");
  llvm::IRBuilder<> builder(entry);
  llvm::Value *function = builder.CreateLoad(pointer, hook);
  builder.CreateCondBr(builder.CreateIsNull(function), end, told);
  builder.SetInsertPoint(told);
  builder.CreateCall(mark->getFunctionType(), function,
                     {mark->getArg(0), mark->getArg(1)});
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
}

FailureOr<std::string> sccl::compileHostObject(ModuleOp module, StringRef cpu,
                                               bool instrumented) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(module, cpu);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context, "sccl");
  if (!translated)
    return module.emitError("cannot be translated to LLVM IR");
  translated->setDataLayout(machine->createDataLayout());
  translated->setTargetTriple(machine->getTargetTriple());
  makeYieldReplaceable(*translated);
  defineMarkFunction(*translated);
  if (instrumented)
    addStepCalls(*translated);
  optimize(*translated, *machine, instrumented);

  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM cannot write objects for this machine");
  emitter.run(*translated);
  // Small pages keep the file small; what is missing is libc's, which every
  // process has.
  return linkSharedObject(module, StringRef(object.data(), object.size()),
                          {"--build-id=none", "--hash-style=gnu", "-znow",
                           "-zmax-page-size=4096", "--strip-all"},
                          "");
}
