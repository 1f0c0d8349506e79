//===- ElementOps.h - Element types and reductions --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H
#define SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H

#include "sccl/Model/Result.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sccl::coll {

/// How to combine two elements, in the words of MLIR.
struct ElementOp {
  std::string type;     ///< "f32"
  unsigned bytes;       ///< of one element
  std::string mnemonic; ///< "arith.addf"
};

/// Looks up an element type ("f32", "u8", ...) and a reduction ("sum", ...).
/// Fails with a message on a name it does not know.
Result<ElementOp> makeElementOp(llvm::StringRef element,
                                llvm::StringRef reduction);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H
