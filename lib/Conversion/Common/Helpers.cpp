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
#include "MarkCode.h"
#include "SwitchLoops.h"
#include "WideLoops.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

void coll::insertHelpers(Block &body, const HelperOptions &options) {
  bool isHost = options.target == HelperTarget::Host;
  constexpr unsigned globalMemory = 1;
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  CodeBuilder code(builder, body.getParentOp()->getLoc(),
                   isHost ? 0 : globalMemory);
  buildChunkHelper(code, options, {});
  if (options.reduces())
    buildChunkHelper(code, options, {.reduces = true});
  bool hasTerms = false;
  for (const TransferShape &shape : options.shapes) {
    buildChunkHelper(code, options, shape);
    if (shape.hasLL())
      buildLLLoops(code, options, shape);
    else if (shape.isWide())
      buildWideLoops(code, options, shape);
    else if (shape.isSwitched)
      buildSwitchLoops(code, options, shape);
    else
      hasTerms = true;
  }
  if (isHost)
    buildHostLoops(code, options, hasTerms);
  else
    buildBlockLoops(code, options, hasTerms);
  buildFlagHelpers(code, options);
  if (options.traced && !isHost)
    buildMarkHelpers(code);
}
