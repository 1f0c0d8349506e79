//===- ReductionChoice.cpp - Code for several reductions ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReductionChoice.h"

#include "CodeBuilder.h"
#include "WaveCode.h"

#include "sccl/ABI/HelperNames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Where a reduction is one of several, its loop is called so.
static std::string loopName(StringRef helper, StringRef suffix,
                            const ElementOp &op) {
  return (helper + suffix + helper::choiceMark + op.name()).str();
}

std::vector<ReductionLoop> coll::reductionLoops(const HelperOptions &options,
                                                StringRef suffix) {
  std::vector<ReductionLoop> loops;
  llvm::StringSet<> known;
  for (const ElementOp &op : options.reductions) {
    if (!options.chooses()) {
      loops.push_back({(helper::reduceElements + suffix).str(), op, false});
      if (op.averages())
        loops.push_back({(helper::average + suffix).str(), op, true});
      continue;
    }
    ElementOp plain = op.plain();
    if (known.insert(plain.name()).second)
      loops.push_back(
          {loopName(helper::reduceElements, suffix, plain), plain, false});
    if (op.averages())
      loops.push_back({loopName(helper::average, suffix, op), op, true});
  }
  return loops;
}

namespace {
/// Builds one function that chooses.
class ChoiceBuilder {
public:
  ChoiceBuilder(CodeBuilder &code, const HelperOptions &options,
                StringRef suffix, ArrayRef<Type> types)
      : code(code), options(options), suffix(suffix), types(types) {}

  void buildPlain() {
    SmallVector<Type> parameters(types);
    parameters.push_back(code.i32);
    auto call = [&](const ElementOp &op, ValueRange operands) {
      code.call(loopName(helper::reduceElements, suffix, op.plain()), operands);
    };
    // The last one needs no comparison.
    ArrayRef<ElementOp> ops = options.reductions;
    code.function((helper::chooseElements + suffix).str(), parameters,
                  [&](ValueRange arguments) {
                    ValueRange operands = arguments.drop_back();
                    choose(
                        arguments.back(), ops.drop_back(),
                        [&](const ElementOp &op) { call(op, operands); },
                        [&] { call(ops.back(), operands); });
                  });
  }

  /// What is no average is reduced without division.
  void buildAverage() {
    SmallVector<Type> parameters(types);
    parameters.append({code.i32, code.i32});
    std::vector<ElementOp> ops;
    llvm::copy_if(options.reductions, std::back_inserter(ops),
                  std::mem_fn(&ElementOp::averages));
    code.function(
        (helper::chooseAverage + suffix).str(), parameters,
        [&](ValueRange arguments) {
          SmallVector<Value> plain(arguments.take_front(types.size()));
          plain.push_back(arguments.back());
          choose(
              arguments.back(), ops,
              [&](const ElementOp &op) {
                code.call(loopName(helper::average, suffix, op),
                          arguments.drop_back());
              },
              [&] {
                code.call((helper::chooseElements + suffix).str(), plain);
              });
        });
  }

private:
  void choose(Value number, ArrayRef<ElementOp> ops,
              function_ref<void(const ElementOp &)> then,
              CodeBuilder::Block otherwise) {
    // Of an operand no compiler knows that all threads have the same.
    if (options.target == HelperTarget::ROCDL)
      number = buildUniform(code, number);
    auto numbers = llvm::map_to_vector(
        ops, [](const ElementOp &op) { return int64_t(op.number()); });
    code.switchOver(
        number, numbers, [&](size_t index) { then(ops[index]); }, otherwise);
  }

  CodeBuilder &code;
  const HelperOptions &options;
  StringRef suffix;
  ArrayRef<Type> types;
};
} // namespace

void coll::buildReductionChoice(CodeBuilder &code, const HelperOptions &options,
                                StringRef suffix, ArrayRef<Type> types) {
  if (!options.chooses())
    return;
  ChoiceBuilder builder(code, options, suffix, types);
  builder.buildPlain();
  if (options.averages())
    builder.buildAverage();
}
