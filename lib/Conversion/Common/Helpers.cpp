//===- Helpers.cpp - Functions that generated code calls ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "BlockLoops.h"
#include "ChunkHelpers.h"
#include "CodeBuilder.h"
#include "FlagCode.h"
#include "HostLoops.h"
#include "TableHelper.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static void insertTableHelpers(Block &body, const HelperOptions &options) {
  // What the functions call is not in the same text.
  ParserConfig config(body.getParentOp()->getContext(),
                      /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> helpers =
      parseSourceString<ModuleOp>(tableHelperText(options), config);
  assert(helpers && "the helper text is part of the compiler");
  body.getOperations().splice(body.end(), helpers->getBody()->getOperations());
}

void coll::insertHelpers(Block &body, const HelperOptions &options) {
  bool isHost = options.target == HelperTarget::Host;
  constexpr unsigned globalMemory = 1;
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  CodeBuilder code(builder, body.getParentOp()->getLoc(),
                   isHost ? 0 : globalMemory);
  buildChunkHelper(code, options, {});
  if (options.combine)
    buildChunkHelper(code, options, {.combines = true});
  for (const LLShape &shape : options.ll) {
    buildChunkHelper(code, options, shape);
    buildLLLoops(code, options, shape);
  }
  if (isHost)
    buildHostLoops(code, options);
  else
    buildBlockLoops(code, options);
  buildFlagHelpers(code, options.target);
  if (options.hasTables)
    insertTableHelpers(body, options);
}
