//===- TableKernel.cpp - The kernel that executes tables ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over the rows of the block's channel. It keeps no more than where it
// is: a row is loaded again for each repetition of its transfer.
//
//===----------------------------------------------------------------------===//

#include "TableKernel.h"

#include "sccl/ABI/RankTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

#include <functional>

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

using coll::TransferShape;

/// True if a letter of `shape` stands for `slot`: see TransferShape.
static bool isMarked(Value slot, TransferShape &shape) {
  if (auto wide = dyn_cast<WideSlotType>(slot.getType())) {
    shape.width = wide.getWidth();
    return true;
  }
  return isa<LLSlotType>(slot.getType());
}

TransferShape collk::shapeOf(CopyOp copy) {
  TransferShape shape;
  shape.dst = isMarked(copy.getDst(), shape);
  shape.src0 = isMarked(copy.getSrc(), shape);
  shape.isSwitched = isa<SwitchSlotType>(copy.getDst().getType());
  return shape;
}

TransferShape collk::shapeOf(ReduceOp reduce) {
  TransferShape shape;
  shape.reduces = true;
  shape.dst = isMarked(reduce.getDst(), shape);
  shape.src0 = isMarked(reduce.getLhs(), shape);
  shape.src1 = isMarked(reduce.getRhs(), shape);
  shape.hasTerms = bool(reduce.getTerms());
  return shape;
}

TransferShape collk::shapeOf(LoadReduceOp) {
  return {.reduces = true, .isSwitched = true};
}

std::optional<TransferShape> collk::shapeOf(Operation *op) {
  using Shape = std::optional<TransferShape>;
  return llvm::TypeSwitch<Operation *, Shape>(op)
      .Case<CopyOp, ReduceOp, LoadReduceOp>(
          [](auto each) -> Shape { return shapeOf(each); })
      .Default([](Operation *) { return std::nullopt; });
}

void TableFeatures::note(KernelOp kernel) {
  kernel.walk([&](Operation *op) {
    std::optional<TransferShape> shape = shapeOf(op);
    if (shape && !shape->isPlain())
      shapes.insert(*shape);
    else if (shape)
      reduces |= shape->reduces;
  });
}

void TableFeatures::merge(const TableFeatures &other) {
  reduces |= other.reduces;
  shapes.insert(other.shapes.begin(), other.shapes.end());
}

static_assert(TableRow::Shape + TransferShape::firstWithTerms ==
                  TableRow::Terms &&
              TableRow::Shape + TransferShape::firstSwitched ==
                  TableRow::Switch &&
              TableRow::Shape + TransferShape::count <= TableRow::kindMask + 1);

namespace {
class TableKernelBuilder {
public:
  TableKernelBuilder(OpBuilder &builder, Location loc,
                     const TableFeatures &features,
                     std::optional<unsigned> step)
      : builder(builder), loc(loc), features(features), step(step) {}

  void build();

private:
  /// A slot as it stands in the table.
  struct Place {
    Value buffer, segment, chunk, odd, segmentStep, chunkStep, step;
  };

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return Op::create(builder, loc, lhs, rhs);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value isKind(unsigned number) {
    return compare(arith::CmpIPredicate::eq, kind, constant(number));
  }
  LoadOp load(Value unit) { return LoadOp::create(builder, loc, unit); }

  void loopOverRows(Value first, Value rows);
  void row();
  void transfers();
  Value shareOf(const TransferShape &shape, const Place &dst);
  void transferOf(const TransferShape &shape, const Place &dst,
                  const Place &src0);
  void flags();
  Place place(unsigned number);
  Value slot(const Place &place, const TransferShape &shape, bool isMarked,
             bool isRepeated, bool isAtSwitch = false);
  /// Emits `then` for rows for which `condition` holds, and `otherwise`.
  void branch(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = {});

  OpBuilder &builder;
  Location loc;
  const TableFeatures &features;
  std::optional<unsigned> step;
  Value part, launch;
  Value unit, turn; ///< of the row, and which repetition of it this is
  Value kind, head, position, count, times;
};
} // namespace

void TableKernelBuilder::branch(Value condition,
                                llvm::function_ref<void()> then,
                                llvm::function_ref<void()> otherwise) {
  auto choice = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  then();
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(choice.elseBlock());
  otherwise();
}

void TableKernelBuilder::build() {
  LoadOp header = load(constant(0));
  Value index = BlockIndexOp::create(builder, loc);
  Value blocks = BlocksOp::create(builder, loc);
  Value channel = binary<arith::DivUIOp>(index, blocks);
  Value rest = binary<arith::RemUIOp>(index, blocks);
  constexpr unsigned headerUnits = sizeof(TableHeader) / tableUnitBytes;
  Value unit = binary<arith::AddIOp>(channel, constant(headerUnits));
  if (step) {
    Value before = binary<arith::MulIOp>(header.getWord2(), constant(*step));
    unit = binary<arith::AddIOp>(unit, before);
  }
  LoadOp entry = load(unit);
  Value spread = entry.getWord3();
  auto field = [&](unsigned shift) {
    return binary<arith::AndIOp>(
        binary<arith::ShRUIOp>(spread, constant(shift)),
        constant(TableChannel::fieldMask));
  };
  Value before = binary<arith::MulIOp>(field(TableChannel::groupShift), blocks);
  Value block = binary<arith::AddIOp>(before, rest);
  Value doublings = field(0);
  Value partsShift = field(TableChannel::partsShift);
  Value parts = binary<arith::ShLIOp>(constant(1), partsShift);
  part =
      PartOp::create(builder, loc, block, parts, header.getWord0(), doublings);
  Value epoch = entry.getWord2();
  Value spreads = binary<arith::SubIOp>(partsShift, doublings);
  Value words = binary<arith::ShLIOp>(header.getWord1(), spreads);
  if (!step)
    launch = BeginOp::create(builder, loc, epoch, words, part);
  loopOverRows(entry.getWord0(), entry.getWord1());
  if (!step)
    EndOp::create(builder, loc, launch, epoch, part);
}

/// A row of plain memory has as many turns as it has repetitions, others have
/// one.
void TableKernelBuilder::loopOverRows(Value first, Value rows) {
  constexpr unsigned rowUnits = sizeof(TableRow) / tableUnitBytes;
  Value length = binary<arith::MulIOp>(rows, constant(rowUnits));
  Value end = binary<arith::AddIOp>(first, length);
  Type i32 = builder.getI32Type();
  auto loop = scf::WhileOp::create(builder, loc, TypeRange{i32, i32},
                                   ValueRange{first, constant(0)});
  OpBuilder::InsertionGuard guard(builder);
  Block *before =
      builder.createBlock(&loop.getBefore(), {}, {i32, i32}, {loc, loc});
  Value more = compare(arith::CmpIPredicate::ult, before->getArgument(0), end);
  scf::ConditionOp::create(builder, loc, more, before->getArguments());
  Block *body =
      builder.createBlock(&loop.getAfter(), {}, {i32, i32}, {loc, loc});
  unit = body->getArgument(0);
  turn = body->getArgument(1);
  LoadOp words = load(unit);
  head = words.getWord0();
  position = words.getWord1();
  count = words.getWord2();
  times = words.getWord3();
  kind = binary<arith::AndIOp>(head, constant(TableRow::kindMask));
  Value next = binary<arith::AddIOp>(turn, constant(1));
  Value again = compare(arith::CmpIPredicate::ult, next, words.getWord3());
  if (!features.shapes.empty()) {
    // Helpers for LL words repeat by themselves, and terms are not repeated.
    bool isWide =
        llvm::any_of(features.shapes, std::mem_fn(&TransferShape::isWide));
    Value end = constant(isWide ? TableRow::Terms : TableRow::Shape);
    Value isRepeated = compare(arith::CmpIPredicate::ult, kind, end);
    if (llvm::any_of(features.shapes,
                     [](auto &shape) { return shape.isSwitched; }))
      isRepeated = binary<arith::OrIOp>(
          isRepeated,
          compare(arith::CmpIPredicate::uge, kind, constant(TableRow::Switch)));
    again = binary<arith::AndIOp>(again, isRepeated);
  }
  Value nextTurn =
      arith::SelectOp::create(builder, loc, again, next, constant(0));
  Value behind = binary<arith::AddIOp>(unit, constant(rowUnits));
  Value nextUnit = arith::SelectOp::create(builder, loc, again, unit, behind);
  row();
  scf::YieldOp::create(builder, loc, ValueRange{nextUnit, nextTurn});
}

void TableKernelBuilder::row() {
  Value isPlain =
      compare(arith::CmpIPredicate::ult, kind, constant(TableRow::Signal));
  Value isTransfer = isPlain;
  if (!features.shapes.empty())
    isTransfer =
        binary<arith::OrIOp>(isPlain, compare(arith::CmpIPredicate::uge, kind,
                                              constant(TableRow::Shape)));
  branch(
      isTransfer, [&] { transfers(); }, [&] { flags(); });
}

void TableKernelBuilder::flags() {
  auto join = [&] { JoinOp::create(builder, loc, part); };
  if (step)
    return join();
  Value range = FlagsOp::create(builder, loc, position, count);
  branch(
      isKind(TableRow::Signal),
      [&] { SignalOp::create(builder, loc, range, part, launch); },
      [&] { WaitOp::create(builder, loc, range, part, launch); });
}

/// The words of the row's slot number `number`.
TableKernelBuilder::Place TableKernelBuilder::place(unsigned number) {
  LoadOp words = load(binary<arith::AddIOp>(unit, constant(1 + number)));
  Value where = words.getWord0();
  // A buffer of the rank itself has the complement of its field's number.
  Value sign = binary<arith::ShRSIOp>(where, constant(31));
  constexpr unsigned fields = unsigned(BufferField::Count);
  Value field = binary<arith::AndIOp>(binary<arith::XOrIOp>(where, sign),
                                      constant(fields - 1));
  Value isScratch = compare(arith::CmpIPredicate::eq, field,
                            constant(unsigned(BufferField::Scratch)));
  Value zero = constant(0);
  Value offset = binary<arith::MulIOp>(turn, words.getWord3());
  auto select = [&](Value inScratch, Value elsewhere) -> Value {
    return arith::SelectOp::create(builder, loc, isScratch, inScratch,
                                   elsewhere);
  };
  Value segment = binary<arith::AddIOp>(words.getWord1(), offset);
  Value chunk = binary<arith::AddIOp>(words.getWord2(), offset);
  Place result;
  result.buffer = BufferOp::create(builder, loc, where);
  result.segment = select(zero, segment);
  result.chunk = select(chunk, words.getWord2());
  if (launch)
    result.odd = select(words.getWord1(), zero);
  result.step = words.getWord3();
  result.segmentStep = select(zero, words.getWord3());
  result.chunkStep = select(words.getWord3(), zero);
  return result;
}

/// A slot, or the first of several.
Value TableKernelBuilder::slot(const Place &place, const TransferShape &shape,
                               bool isMarked, bool isRepeated,
                               bool isAtSwitch) {
  Type type = SlotType::get(builder.getContext());
  if (isAtSwitch)
    type = SwitchSlotType::get(builder.getContext());
  else if (isMarked && shape.isWide())
    type = WideSlotType::get(builder.getContext(), shape.width);
  else if (isMarked)
    type = LLSlotType::get(builder.getContext());
  return SlotOp::create(builder, loc, type, place.buffer, place.segment,
                        place.chunk, place.odd, place.odd ? launch : Value(),
                        isRepeated ? place.segmentStep : Value(),
                        isRepeated ? place.chunkStep : Value());
}

/// The part of the blocks that the row of a transfer of LL words is for.
Value TableKernelBuilder::shareOf(const TransferShape &shape,
                                  const Place &dst) {
  Value share;
  if (!shape.reduces)
    share = binary<arith::ShRUIOp>(head, constant(TableRow::shareShift));
  else if (shape.hasTerms)
    share = dst.step;
  else
    share = arith::SelectOp::create(
        builder, loc, compare(arith::CmpIPredicate::eq, times, constant(1)),
        dst.step, constant(0));
  return ShareOp::create(builder, loc, share, part);
}

void TableKernelBuilder::transferOf(const TransferShape &shape,
                                    const Place &dst, const Place &src0) {
  bool repeats = shape.repeats();
  Value to =
      slot(dst, shape, shape.dst, repeats, shape.isSwitched && !shape.reduces);
  Value from =
      slot(src0, shape, shape.src0, repeats, shape.isSwitched && shape.reduces);
  Value mover = shape.hasLL() ? shareOf(shape, dst) : part;
  if (!shape.reduces) {
    CopyOp::create(builder, loc, from, to, count, position,
                   repeats ? times : Value(), mover, launch);
    return;
  }
  if (shape.isSwitched) {
    LoadReduceOp::create(builder, loc, from, to, count, position, Value(), part,
                         launch);
    return;
  }
  Value second = slot(place(2), shape, shape.src1, repeats || shape.hasTerms);
  Value average =
      binary<arith::ShRUIOp>(head, constant(TableRow::averageShift));
  ReduceOp::create(builder, loc, from, second, to, count, position,
                   repeats ? times : Value(), shape.hasTerms ? times : Value(),
                   average, mover, launch);
}

/// Each kind stands in the else of another: then nothing has to be kept across
/// a call.
void TableKernelBuilder::transfers() {
  SmallVector<std::pair<unsigned, TransferShape>> kinds;
  for (const TransferShape &shape : features.shapes)
    kinds.push_back({TableRow::Shape + shape.number(), shape});
  TransferShape reduction;
  reduction.reduces = true;
  if (features.reduces)
    kinds.push_back({TableRow::Reduce, reduction});
  Place dst = place(0), src0 = place(1);
  auto emit = [&](auto &&self,
                  ArrayRef<std::pair<unsigned, TransferShape>> rest) {
    if (rest.empty())
      return transferOf({}, dst, src0);
    branch(
        isKind(rest.front().first),
        [&] { transferOf(rest.front().second, dst, src0); },
        [&] { self(self, rest.drop_front()); });
  };
  emit(emit, kinds);
}

static void createTableKernel(OpBuilder &builder, Location loc,
                              const TableFeatures &features,
                              std::optional<unsigned> step) {
  std::string name = tableFunction;
  IntegerAttr number;
  if (step) {
    name += "_step" + std::to_string(*step);
    number = builder.getI32IntegerAttr(*step);
  }
  auto kernel = KernelOp::create(builder, loc, name, IntegerAttr(), number);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&kernel.getBody());
  TableKernelBuilder(builder, loc, features, step).build();
}

void collk::createTableKernels(ProgramOp program, const TableFeatures &features,
                               unsigned steps) {
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  if (steps == 0)
    createTableKernel(builder, program.getLoc(), features, std::nullopt);
  for (unsigned step = 0; step < steps; ++step)
    createTableKernel(builder, program.getLoc(), features, step);
}

TableOp collk::makeTable(KernelOp kernel) {
  OpBuilder builder(kernel);
  auto table = TableOp::create(builder, kernel.getLoc(), kernel.getRankAttr(),
                               kernel.getStepAttr());
  table.getBody().takeBody(kernel.getBody());
  kernel.erase();
  return table;
}

/// Kernels of programs for up to so many ranks, with up to so many rows each,
/// stay code: on NVIDIA that takes 64 registers, where tables take 76.
static constexpr unsigned ranksAsCode = 8, rowsAsCode = 512;

/// The rows that a table of `kernel` would have.
static unsigned countRows(KernelOp kernel) {
  unsigned rows = 0;
  kernel.walk([&](Operation *op) {
    rows += isa<CopyOp, ReduceOp, LoadReduceOp, SignalOp, WaitOp, JoinOp>(op);
  });
  return rows;
}

bool collk::isBetterAsTables(unsigned numRanks) {
  return numRanks > ranksAsCode;
}

bool collk::isBetterAsTables(ProgramOp program) {
  if (isBetterAsTables(program.getRanks()))
    return true;
  return llvm::any_of(
      program.getBody().getOps<KernelOp>(),
      [](KernelOp kernel) { return countRows(kernel) > rowsAsCode; });
}
