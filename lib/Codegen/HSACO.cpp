//===- HSACO.cpp - From GCN assembly to a code object ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HSACO.h"

#include "GPUTargets.h"
#include "Linker.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;

FailureOr<std::string> sccl::linkHSACO(ModuleOp module, StringRef isa,
                                       StringRef chip) {
  auto emitError = [&] { return module.emitError(); };
  FailureOr<SmallVector<char, 0>> object =
      ROCDL::assembleIsa(isa, "amdgcn-amd-amdhsa", chip, "", emitError);
  if (failed(object))
    return failure();
  return linkSharedObject(module, StringRef(object->data(), object->size()),
                          /*options=*/{}, ", or write .s");
}
