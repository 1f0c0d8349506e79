//===- Boxes.cpp - Which ranks of a topology share a box ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/Boxes.h"

#include "sccl/Dialect/Coll/CollOps.h"

#include <numeric>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static constexpr StringLiteral boxesName = "coll.boxes";

void coll::setBoxes(TopologyOp op, const RankGroups &boxes) {
  if (boxes.size() > 1)
    op->setAttr(boxesName,
                StringAttr::get(op.getContext(), printRankGroups(boxes)));
}

FailureOr<RankGroups> coll::boxesOf(TopologyOp op) {
  Attribute attribute = op->getDiscardableAttr(boxesName);
  if (!attribute) {
    RankGroups one(1, std::vector<unsigned>(op.getRanks()));
    std::iota(one[0].begin(), one[0].end(), 0u);
    return one;
  }
  auto text = dyn_cast<StringAttr>(attribute);
  if (!text)
    return op.emitError(boxesName) << " is no text, as in \"0-7/8-15\"";
  Result<RankGroups> boxes =
      parseRankGroups(text.getValue().str(), op.getRanks());
  if (!boxes)
    return op.emitError(boxesName) << ": " << boxes.error();
  size_t ranks = 0;
  for (const std::vector<unsigned> &box : *boxes)
    ranks += box.size();
  if (ranks != op.getRanks())
    return op.emitError(boxesName)
           << " has " << ranks << " of " << op.getRanks() << " ranks";
  return std::move(*boxes);
}
