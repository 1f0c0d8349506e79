//===- Directives.h - What directives say of GCN ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_GCN_DIRECTIVES_H
#define SCCL_LIB_EMULATE_GCN_DIRECTIVES_H

#include "GCNCode.h"

#include "llvm/ADT/StringMap.h"

namespace sccl::emulate::gcn {

struct Directives {
  std::string chip;
  llvm::StringMap<KernelRegisters> kernels;
  std::vector<Constant> objects;
};

/// Reads .amdgcn_target, .amdhsa_ and the data of objects. Fails at what
/// kernels ask for and the machine does not have.
Result<Directives> parseDirectives(llvm::StringRef text);

} // namespace sccl::emulate::gcn

#endif // SCCL_LIB_EMULATE_GCN_DIRECTIVES_H
