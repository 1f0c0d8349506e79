//===- Topo.cpp - sccl topo -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/Format.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("topo",
                              "List the built-in topologies, or print one");
static cl::opt<std::string> name(cl::Positional, cl::desc("[NAME|FILE]"),
                                 cl::sub(command));

bool driver::topoChosen() { return bool(command); }

int driver::topoMain() {
  if (name.empty()) {
    for (const BuiltinTopology &builtin : builtinTopologies())
      llvm::outs() << llvm::left_justify(builtin.spec, 18)
                   << builtin.description << '\n';
    return Done;
  }
  std::optional<Topology> topology = loadTopology(name);
  if (!topology)
    return BadInput;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<coll::CollDialect>();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  coll::exportTopology(builder, builder.getUnknownLoc(), *topology)
      .print(llvm::outs());
  llvm::outs() << '\n';
  return Done;
}
