//===- Program.cpp - Small programs about order ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Litmus/Program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace sccl;
using namespace sccl::litmus;
using llvm::StringRef;

bool litmus::compare(int64_t left, Comparison comparison, int64_t right) {
  switch (comparison) {
  case Comparison::Equal:
    return left == right;
  case Comparison::NotEqual:
    return left != right;
  case Comparison::AtLeast:
    return left >= right;
  case Comparison::Less:
    return left < right;
  }
  return false;
}

StringRef litmus::spellingOf(Verdict verdict) {
  static constexpr StringRef spellings[] = {"never", "sometimes", "stuck",
                                            "unknown"};
  return spellings[unsigned(verdict)];
}

//===----------------------------------------------------------------------===//
// Opcodes
//===----------------------------------------------------------------------===//

static std::optional<Order> orderOf(StringRef part) {
  return llvm::StringSwitch<std::optional<Order>>(part)
      .Case("weak", Order::Weak)
      .Case("relaxed", Order::Relaxed)
      .Case("acquire", Order::Acquire)
      .Case("release", Order::Release)
      .Case("acq_rel", Order::AcquireRelease)
      .Case("sc", Order::Sequential)
      .Default(std::nullopt);
}

static std::optional<Scope> scopeOf(StringRef part) {
  return llvm::StringSwitch<std::optional<Scope>>(part)
      .Case("cta", Scope::Block)
      .Cases({"gpu", "gl"}, Scope::GPU)
      .Case("sys", Scope::System)
      .Default(std::nullopt);
}

/// Parts of a load or store that say nothing about its order.
static bool isTypeOrSpace(StringRef part) {
  if (part == "global" || part == "v2" || part == "v4" || part == "v8")
    return true;
  unsigned bits = 0;
  return !part.empty() && StringRef("busf").contains(part.front()) &&
         !part.drop_front().getAsInteger(10, bits);
}

/// Parts of an access through a switch that say what it computes.
static bool isReduction(StringRef part) {
  return llvm::StringSwitch<bool>(part)
      .Cases({"add", "min", "max", "and", "or", "xor"}, true)
      .Cases({"acc::f32", "f16x2", "bf16", "bf16x2"}, true)
      .Default(false);
}

/// The order and the scope among `parts`; nothing if there is anything else
/// that is not known, or one of them twice.
static std::optional<Operation> readParts(llvm::ArrayRef<StringRef> parts,
                                          Operation operation, bool hasType) {
  bool hasOrder = false, hasScope = false;
  for (StringRef part : parts) {
    if (std::optional<Order> order = orderOf(part); order && !hasOrder) {
      operation.order = *order;
      hasOrder = true;
    } else if (std::optional<Scope> scope = scopeOf(part); scope && !hasScope) {
      operation.scope = *scope;
      hasScope = true;
    } else if (!hasType || !(isTypeOrSpace(part) ||
                             (operation.isMulticast && isReduction(part)))) {
      return std::nullopt;
    }
  }
  // What is strong says how far it goes.
  if (hasScope != (operation.order != Order::Weak))
    return std::nullopt;
  return operation;
}

std::optional<Operation> litmus::readOpcode(StringRef opcode) {
  llvm::SmallVector<StringRef> parts;
  opcode.split(parts, '.');
  StringRef verb = parts.front();
  llvm::ArrayRef<StringRef> rest = llvm::ArrayRef(parts).drop_front();
  Operation operation;
  if (verb == "multimem" && !rest.empty()) {
    operation.isMulticast = true;
    verb = rest.front() == "ld_reduce" ? "ld" : rest.front();
    rest = rest.drop_front();
    if (verb != "ld" && verb != "st")
      return std::nullopt;
  }
  if (opcode == "fence.proxy.alias") {
    operation.kind = Kind::AliasFence;
    return operation;
  }
  if (verb == "ld" || verb == "st") {
    operation.kind = verb == "ld" ? Kind::Load : Kind::Store;
    std::optional<Operation> access = readParts(rest, operation, true);
    Order other = verb == "ld" ? Order::Release : Order::Acquire;
    if (!access || access->order == other || access->order > Order::Release)
      return std::nullopt;
    return access;
  }
  if (verb == "fence") {
    std::optional<Operation> fence = readParts(rest, operation, false);
    if (!fence || fence->order < Order::AcquireRelease)
      return std::nullopt;
    return fence;
  }
  if (verb == "membar") {
    std::optional<Scope> scope =
        rest.size() == 1 ? scopeOf(rest[0]) : std::nullopt;
    operation.order = Order::Sequential;
    operation.scope = scope.value_or(Scope::Block);
    return scope && rest[0] != "gpu" ? std::optional(operation) : std::nullopt;
  }
  operation.kind = Kind::Barrier;
  if (opcode == "bar.sync" || opcode == "bar.cta.sync" ||
      opcode == "barrier.sync" || opcode == "barrier.cta.sync")
    return operation;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static StringRef spellingOf(Order order) {
  static constexpr StringRef spellings[] = {"",         ".relaxed", ".acquire",
                                            ".release", ".acq_rel", ".sc"};
  return spellings[unsigned(order)];
}

static StringRef spellingOf(Scope scope) {
  static constexpr StringRef spellings[] = {".cta", ".gpu", ".sys"};
  return spellings[unsigned(scope)];
}

static StringRef spellingOf(Comparison comparison) {
  static constexpr StringRef spellings[] = {" == ", " != ", " >= ", " < "};
  return spellings[unsigned(comparison)];
}

static void print(const Operation &op, const Thread &thread,
                  const Program &program, llvm::raw_ostream &os) {
  auto order = [&] {
    return op.order == Order::Weak
               ? std::string()
               : ::spellingOf(op.order).str() + ::spellingOf(op.scope).str();
  };
  switch (op.kind) {
  case Kind::Load:
    os << (op.isMulticast ? "multimem.ld_reduce" : "ld") << order() << ' '
       << thread.registers[op.reg] << ", ["
       << program.locations[op.location].name << ']';
    break;
  case Kind::Store:
    os << (op.isMulticast ? "multimem.st" : "st") << order() << " ["
       << program.locations[op.location].name << "], ";
    if (op.storesRegister)
      os << thread.registers[op.reg];
    else
      os << op.value;
    break;
  case Kind::Fence:
    os << "fence" << order();
    break;
  case Kind::AliasFence:
    os << "fence.proxy.alias";
    break;
  case Kind::Barrier:
    os << "bar.sync " << op.location;
    break;
  case Kind::Require:
    os << "require " << thread.registers[op.reg] << ::spellingOf(op.comparison)
       << op.value;
    break;
  }
}

std::string litmus::printLitmus(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "litmus \"" << program.name << "\"\n";
  for (const Location &location : program.locations)
    if (location.initial)
      os << "init " << location.name << " = " << location.initial << '\n';
  for (const Thread &thread : program.threads) {
    os << "thread " << thread.name << " gpu " << thread.gpu << " block "
       << thread.block << '\n';
    for (const Operation &op : thread.code) {
      os << "  ";
      print(op, thread, program, os);
      os << '\n';
    }
  }
  for (const std::vector<Term> &terms : program.outcomes) {
    os << "exists ";
    llvm::interleave(
        terms, os,
        [&](const Term &term) {
          const Thread &thread = program.threads[term.thread];
          os << thread.name << ':' << thread.registers[term.reg]
             << ::spellingOf(term.comparison) << term.value;
        },
        " and ");
    os << '\n';
  }
  if (program.expected)
    os << "expect " << spellingOf(*program.expected) << '\n';
  return text;
}
