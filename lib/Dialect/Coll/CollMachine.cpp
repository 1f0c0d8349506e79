//===- CollMachine.cpp - Machines as ops ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/CollMachine.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Machine/Units.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

#include "sccl/Dialect/Coll/CollMachineEnums.cpp.inc"

#define GET_OP_CLASSES
#include "sccl/Dialect/Coll/CollMachineOps.cpp.inc"

LogicalResult MachineOp::verifyRegions() {
  for (Operation &op : getBody().front()) // machine_c1
    if (!isa<VertexOp, EdgeOp>(op))
      return op.emitOpError() << "is in a coll.machine, which holds only "
                                 "coll.vertex and coll.edge";
  return importMachine(*this); // machine_c2-c4, vertex_c1-c3, edge_c1-c2
}

//===----------------------------------------------------------------------===//
// From ops
//===----------------------------------------------------------------------===//

static LogicalResult importVertex(VertexOp op, Machine &machine) {
  std::optional<uint32_t> box = op.getBox();
  if (box && static_cast<int32_t>(*box) < 0)
    return op.emitOpError() << "is in box " << static_cast<int32_t>(*box)
                            << ", expected at least 0";
  Vertex vertex = {static_cast<VertexKind>(op.getPart()), op.getName().str(),
                   box};
  vertex.busId = op.getBusId().value_or("").str();
  vertex.chip = op.getChip().value_or("").str();
  vertex.multicast = op.getMulticast();
  vertex.reduces = op.getReduces();
  Result<unsigned> added = machine.addVertex(std::move(vertex));
  return added ? success() : LogicalResult(op.emitOpError(added.error()));
}

/// The exact number that an attribute spells.
static FailureOr<Rational> importNumber(EdgeOp op, StringRef name,
                                        StringRef text) {
  Result<Rational> number = parseDecimal(text.str());
  if (number)
    return *number;
  return op.emitOpError() << name << ": " << number.error();
}

static LogicalResult importEdge(EdgeOp op, Machine &machine) {
  std::optional<unsigned> ends[2] = {machine.findVertex(op.getSrc().str()),
                                     machine.findVertex(op.getDst().str())};
  for (auto [end, name] :
       {std::pair(ends[0], op.getSrc()), {ends[1], op.getDst()}})
    if (!end)
      return op.emitOpError()
             << "joins '" << name << "', which is no vertex declared before";
  FailureOr<Rational> bandwidth =
      importNumber(op, "bandwidth", op.getBandwidth());
  if (failed(bandwidth))
    return failure();
  if (static_cast<int32_t>(op.getLanes()) < 1)
    return op.emitOpError() << "has " << static_cast<int32_t>(op.getLanes())
                            << " lanes, expected at least 1";
  Edge edge = {*ends[0],
               *ends[1],
               {*bandwidth, op.getBandwidthSource().str()},
               std::nullopt,
               op.getKind().str(),
               op.getLanes()};
  if (std::optional<StringRef> text = op.getLatency()) {
    FailureOr<Rational> latency = importNumber(op, "latency", *text);
    if (failed(latency))
      return failure();
    edge.latency = Quantity{*latency, op.getLatencySource().value_or("").str()};
  }
  Result<unsigned> added = op.getBothWays() ? machine.addEdgePair(edge)
                                            : machine.addEdge(std::move(edge));
  return added ? success() : LogicalResult(op.emitOpError(added.error()));
}

FailureOr<Machine> coll::importMachine(MachineOp op) {
  Machine machine(op.getSymName().str());
  for (Operation &part : op.getBody().front()) {
    LogicalResult isRead = isa<VertexOp>(part)
                               ? importVertex(cast<VertexOp>(part), machine)
                               : importEdge(cast<EdgeOp>(part), machine);
    if (failed(isRead))
      return failure();
  }
  if (std::optional<ArrayAttr> notes = op.getNotes())
    for (Attribute note : *notes)
      machine.addNote(cast<StringAttr>(note).getValue().str());
  return machine;
}

//===----------------------------------------------------------------------===//
// To ops
//===----------------------------------------------------------------------===//

static StringAttr textOrNone(OpBuilder &builder, StringRef text) {
  return text.empty() ? StringAttr() : builder.getStringAttr(text);
}

static void exportVertex(OpBuilder &builder, Location loc,
                         const Vertex &vertex) {
  VertexOp::create(
      builder, loc, static_cast<MachinePart>(vertex.kind),
      builder.getStringAttr(vertex.name),
      vertex.box ? builder.getI32IntegerAttr(*vertex.box) : IntegerAttr(),
      textOrNone(builder, vertex.busId), textOrNone(builder, vertex.chip),
      vertex.multicast, vertex.reduces);
}

static bool isBackOf(const Edge &there, const Edge &back) {
  auto sameQuantity = [](const Quantity &a, const Quantity &b) {
    return a.value == b.value && a.source == b.source;
  };
  return there.src == back.dst && there.dst == back.src &&
         there.kind == back.kind && there.lanes == back.lanes &&
         sameQuantity(there.bandwidth, back.bandwidth) &&
         there.latency.has_value() == back.latency.has_value() &&
         (!there.latency || sameQuantity(*there.latency, *back.latency));
}

static void exportEdge(OpBuilder &builder, Location loc, const Machine &machine,
                       const Edge &edge, bool bothWays) {
  auto name = [&](unsigned vertex) {
    return builder.getStringAttr(machine.vertices()[vertex].name);
  };
  const std::optional<Quantity> &latency = edge.latency;
  EdgeOp::create(
      builder, loc, name(edge.src), name(edge.dst),
      bothWays ? builder.getUnitAttr() : UnitAttr(),
      builder.getStringAttr(decimalText(edge.bandwidth.value)),
      builder.getStringAttr(edge.bandwidth.source),
      latency ? builder.getStringAttr(decimalText(latency->value))
              : StringAttr(),
      latency ? builder.getStringAttr(latency->source) : StringAttr(),
      builder.getStringAttr(edge.kind), builder.getI32IntegerAttr(edge.lanes));
}

MachineOp coll::exportMachine(OpBuilder &builder, Location loc,
                              const Machine &machine) {
  SmallVector<StringRef> notes(machine.notes().begin(), machine.notes().end());
  auto op = MachineOp::create(
      builder, loc, builder.getStringAttr(topologySymbolName(machine.name())),
      notes.empty() ? ArrayAttr() : builder.getStrArrayAttr(notes));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  for (const Vertex &vertex : machine.vertices())
    exportVertex(builder, loc, vertex);
  const std::vector<Edge> &edges = machine.edges();
  for (size_t i = 0; i < edges.size(); ++i) {
    bool bothWays = i + 1 < edges.size() && isBackOf(edges[i], edges[i + 1]);
    exportEdge(builder, loc, machine, edges[i], bothWays);
    i += bothWays;
  }
  return op;
}
