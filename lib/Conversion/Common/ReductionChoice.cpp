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
    auto call = [&](const ElementOp &op, ValueRange arguments) {
      ElementOp plain = op.plain();
      code.call(loopName(helper::reduceElements, suffix, plain),
                arguments.take_front(types.size() + plain.averages()));
    };
    // The last one needs no comparison.
    ArrayRef<ElementOp> ops = options.reductions;
    code.function((helper::chooseElements + suffix).str(), parameters(),
                  [&](ValueRange arguments) {
                    choose(
                        arguments.back(), ops.drop_back(),
                        [&](const ElementOp &op) { call(op, arguments); },
                        [&] { call(ops.back(), arguments); });
                  });
  }

  /// What is no average has no last reduction of its own.
  void buildAverage() {
    std::vector<ElementOp> ops;
    llvm::copy_if(options.reductions, std::back_inserter(ops),
                  std::mem_fn(&ElementOp::averages));
    code.function((helper::chooseAverage + suffix).str(), parameters(),
                  [&](ValueRange arguments) {
                    choose(
                        arguments.back(), ops,
                        [&](const ElementOp &op) {
                          code.call(loopName(helper::average, suffix, op),
                                    arguments.drop_back());
                        },
                        [&] {
                          code.call((helper::chooseElements + suffix).str(),
                                    arguments);
                        });
                  });
  }

private:
  SmallVector<Type> parameters() const {
    SmallVector<Type> result(types);
    result.append(options.averages() ? 2 : 1, code.i32);
    return result;
  }

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
