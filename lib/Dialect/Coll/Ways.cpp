//===- Ways.cpp - #coll.way and the struct of it --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/Way.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

LogicalResult
WayAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                Transport transport, Protocol, unsigned pieces,
                unsigned distance, PieceOrder, unsigned, StringAttr sumOrder,
                bool, StringAttr wire, DenseI64ArrayAttr bestAt) {
  constexpr unsigned limit = 1 << 20;
  if (transport == Transport::Multicast ||
      transport == Transport::LoadReduce) // way_c4
    return emitError() << "moves chunks by " << stringifyTransport(transport)
                       << ", but there are no such programs";
  if (pieces - 1 >= limit || distance - 1 >= limit) // way_c1
    return emitError() << "has " << pieces << " pieces at a distance of "
                       << distance << ", the limits are 1 and " << limit;
  if (sumOrder) // way_c3
    if (auto order = SumOrder::parse(sumOrder.getValue()); !order)
      return emitError() << "has a sum_order that is none: " << order.error();
  if (wire && wire.getValue() != "f32") // way_c5
    return emitError() << "has a wire '" << wire.getValue()
                       << "', expected f32";
  ArrayRef<int64_t> numbers;
  if (bestAt)
    numbers = bestAt.asArrayRef();
  if (numbers.size() % 3 != 0) // way_c2
    return emitError() << "has " << numbers.size()
                       << " numbers in best_at, expected triples of bytes, "
                          "nanoseconds and a bound";
  int64_t least = 0;
  for (; !numbers.empty(); numbers = numbers.drop_front(3)) {
    if (numbers[0] < least || numbers[1] < 0 || numbers[2] < 0)
      return emitError() << "has " << numbers[1] << " ns and a bound of "
                         << numbers[2] << " ns for " << numbers[0]
                         << " bytes in best_at, expected at least 0 ns and "
                         << least << " bytes";
    least = numbers[0] + 1;
  }
  return success();
}

std::vector<Way> coll::importWays(ScheduleOp op) {
  std::vector<Way> ways;
  if (!op.getWays())
    return ways;
  for (auto attribute : op.getWays()->getAsRange<WayAttr>()) {
    bool inRounds = attribute.getOrder() == PieceOrder::Rounds;
    Way &way =
        ways.emplace_back(attribute.getTransport(), attribute.getProtocol(),
                          attribute.getPieces(),
                          sccl::PieceOrder{attribute.getDistance(), inRounds},
                          attribute.getSmBudget());
    if (StringAttr order = attribute.getSumOrder())
      way.sumOrder = *SumOrder::parse(order.getValue());
    way.oneRounding = attribute.getOneRounding();
    way.sumsInF32 = bool(attribute.getWire());
    if (!attribute.getBestAt())
      continue;
    for (ArrayRef<int64_t> numbers = attribute.getBestAt().asArrayRef();
         !numbers.empty(); numbers = numbers.drop_front(3))
      way.bestAt.push_back(
          {uint64_t(numbers[0]), uint64_t(numbers[1]), uint64_t(numbers[2])});
  }
  return ways;
}

ArrayAttr coll::exportWays(MLIRContext *context, ArrayRef<Way> ways) {
  SmallVector<Attribute> attributes;
  auto clamped = [](uint64_t number) {
    return int64_t(
        std::min<uint64_t>(number, std::numeric_limits<int64_t>::max()));
  };
  for (const Way &way : ways) {
    SmallVector<int64_t> numbers;
    for (const SizedTime &size : way.bestAt)
      numbers.append({clamped(size.bytes), clamped(size.nanoseconds),
                      clamped(size.bound)});
    attributes.push_back(WayAttr::get(
        context, way.transport, way.protocol, way.pieces, way.order.distance,
        way.order.inRounds ? PieceOrder::Rounds : PieceOrder::Steps,
        way.smBudget,
        way.sumOrder == SumOrder::Same
            ? StringAttr()
            : StringAttr::get(context, way.sumOrder.toString()),
        way.oneRounding,
        way.sumsInF32 ? StringAttr::get(context, "f32") : StringAttr(),
        numbers.empty() ? DenseI64ArrayAttr()
                        : DenseI64ArrayAttr::get(context, numbers)));
  }
  return ways.empty() ? ArrayAttr() : ArrayAttr::get(context, attributes);
}
