//===- Declare.cpp - Topologies and collectives that passes add -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Declare.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/TopologyIdentity.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// `name`, or if it is taken the first of name_2, name_3, ... that is not.
static std::string freeName(ModuleOp module, StringRef name,
                            StringRef reserved) {
  std::string result = name.str();
  for (unsigned number = 2; result == reserved || module.lookupSymbol(result);
       ++number)
    result = (name + "_" + Twine(number)).str();
  return result;
}

std::string coll::declareTopology(OpBuilder &builder, ScheduleOp user,
                                  const Topology &topology,
                                  StringRef reserved) {
  auto module = user->getParentOfType<ModuleOp>();
  const TopologyIdentity wanted = identityOf(topology);
  auto isWanted = [&](TopologyOp op) {
    FailureOr<Topology> other = importTopology(op);
    return succeeded(other) && identityOf(*other) == wanted;
  };
  if (auto own = module.lookupSymbol<TopologyOp>(user.getTopology());
      own && isWanted(own))
    return own.getSymName().str();
  for (auto op : module.getOps<TopologyOp>())
    if (isWanted(op))
      return op.getSymName().str();
  Topology added = topology;
  added.setName(
      freeName(module, topologySymbolName(topology.name()), reserved));
  exportTopology(builder, user.getLoc(), added);
  return added.name();
}

Collective coll::declareCollective(OpBuilder &builder, ScheduleOp user,
                                   const Collective &collective,
                                   StringRef reserved) {
  if (collective.kind() != CollectiveKind::Custom)
    return collective;
  auto module = user->getParentOfType<ModuleOp>();
  FailureOr<std::vector<Collective>> known = importCollectives(module);
  if (succeeded(known))
    for (Collective &other : *known)
      if (other.chunks() == collective.chunks() &&
          other.combining() == collective.combining() &&
          other.chunksPerSegment() == collective.chunksPerSegment() &&
          other.pre() == collective.pre() && other.post() == collective.post())
        return std::move(other);
  Collective added = collective;
  added.setName(freeName(module, collective.name(), reserved));
  exportCollective(builder, user.getLoc(), added);
  return added;
}
