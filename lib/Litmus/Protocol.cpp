//===- Protocol.cpp - The flag protocol as PTX performs it ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Litmus/Protocol.h"

#include "Skeleton.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <array>

using namespace sccl;
using namespace sccl::litmus;
using llvm::StringRef;

namespace {
/// One way through each helper, and one kind of access to payload.
struct Ways {
  FlagPath signal, signalWithout, wait, waitWithout, end;
  AccessKind load, store;
};

/// A block of two threads. Payload is one word for each, and a word that one
/// thread has written is for the other thread of another block, so that
/// barriers matter on both sides.
struct Block {
  unsigned withFlag, withoutFlag;
};

/// Writes a litmus test as the helpers would execute it.
class Script {
public:
  Script(StringRef name, const Ways &ways, unsigned line) : ways(ways) {
    program.name = name.str();
    program.expected = Verdict::Never;
    program.line = line;
  }

  /// A block on a GPU of its own.
  Block block(StringRef name) {
    unsigned gpu = program.threads.size() / 2;
    for (const char *suffix : {"0", "1"})
      program.threads.push_back({name.str() + suffix, gpu, 0, {}});
    return {gpu * 2, gpu * 2 + 1};
  }

  /// What was in `buffer` before the launch.
  void begin(StringRef buffer, int64_t value) {
    for (unsigned word : {0, 1})
      program.locations[locationOf(buffer, word)].initial = value;
  }
  void store(Block block, StringRef buffer, int64_t value) {
    addStore(block.withFlag, locationOf(buffer, 0), value);
    addStore(block.withoutFlag, locationOf(buffer, 1), value);
  }
  /// Each thread loads what the other thread of a block has stored. Any other
  /// value than `expected` is an outcome.
  void load(Block block, StringRef buffer, int64_t expected) {
    load(block, buffer, Comparison::NotEqual, expected);
  }
  /// The outcome is that the value compares so.
  void load(Block block, StringRef buffer, Comparison comparison,
            int64_t value) {
    for (auto [thread, word] : crossing(block))
      program.outcomes.push_back(
          {{thread, addLoad(thread, locationOf(buffer, word), ways.load),
            comparison, value}});
  }
  /// Each thread loads until the value is this one.
  void poll(Block block, StringRef buffer, int64_t value) {
    for (auto [thread, word] : crossing(block))
      require(thread, addLoad(thread, locationOf(buffer, word), ways.load),
              Comparison::Equal, value);
  }
  /// Each thread sends a word of the other thread on.
  void copy(Block block, StringRef from, StringRef to) {
    for (auto [thread, word] : crossing(block)) {
      Operation op = access(Kind::Store, ways.store);
      op.reg = addLoad(thread, locationOf(from, word), ways.load);
      op.storesRegister = true;
      op.location = locationOf(to, 1 - word);
      program.threads[thread].code.push_back(op);
    }
  }

  void signal(Block block, StringRef flag, int64_t value) {
    follow(block.withFlag, ways.signal, flag, value);
    follow(block.withoutFlag, ways.signalWithout, flag, value);
  }
  void wait(Block block, StringRef flag, int64_t value) {
    follow(block.withFlag, ways.wait, flag, value);
    follow(block.withoutFlag, ways.waitWithout, flag, value);
  }
  void end(Block block) {
    follow(block.withFlag, ways.end, "", 0);
    follow(block.withoutFlag, ways.end, "", 0);
  }

  /// The end of a kernel, and the begin of the next of this rank.
  void endLaunch(Block block) {
    static constexpr AccessKind whole = {Order::AcquireRelease, Scope::System};
    for (unsigned thread : {block.withFlag, block.withoutFlag})
      for (Kind kind : {Kind::Fence, Kind::Barrier, Kind::Fence})
        program.threads[thread].code.push_back(access(kind, whole));
  }

  Program take() { return std::move(program); }

private:
  /// Each thread, with the word of the other.
  static std::array<std::pair<unsigned, unsigned>, 2> crossing(Block block) {
    return {{{block.withFlag, 1}, {block.withoutFlag, 0}}};
  }

  static Operation access(Kind kind, AccessKind how) {
    Operation op;
    op.kind = kind;
    op.order = how.order;
    op.scope = how.scope;
    return op;
  }

  /// The thread polls until a flag is at least `value`: the last load of it.
  void follow(unsigned thread, const FlagPath &path, StringRef flag,
              int64_t value) {
    std::vector<Operation> &code = program.threads[thread].code;
    auto isPoll = [](const FlagStep &step) { return step.kind == Kind::Load; };
    size_t polls = llvm::count_if(path, isPoll);
    for (const FlagStep &step : path) {
      if (isPoll(step)) {
        unsigned reg =
            addLoad(thread, locationOf(flag), {step.order, step.scope});
        if (--polls == 0)
          require(thread, reg, Comparison::AtLeast, value);
        continue;
      }
      Operation op = access(step.kind, {step.order, step.scope});
      op.location = step.kind == Kind::Store ? locationOf(flag) : step.barrier;
      op.value = value;
      code.push_back(op);
    }
  }

  void require(unsigned thread, unsigned reg, Comparison comparison,
               int64_t value) {
    Operation op;
    op.kind = Kind::Require;
    op.reg = reg;
    op.comparison = comparison;
    op.value = value;
    program.threads[thread].code.push_back(op);
  }
  void addStore(unsigned thread, unsigned location, int64_t value) {
    Operation op = access(Kind::Store, ways.store);
    op.location = location;
    op.value = value;
    program.threads[thread].code.push_back(op);
  }
  unsigned addLoad(unsigned thread, unsigned location, AccessKind how) {
    Thread &at = program.threads[thread];
    Operation op = access(Kind::Load, how);
    op.location = location;
    op.reg = at.registers.size();
    at.registers.push_back("r" + std::to_string(op.reg));
    at.code.push_back(op);
    return op.reg;
  }
  unsigned locationOf(StringRef buffer, unsigned word) {
    return locationOf((buffer + llvm::Twine(word)).str());
  }
  unsigned locationOf(StringRef name) {
    auto isIt = [&](const Location &each) { return each.name == name; };
    auto found = llvm::find_if(program.locations, isIt);
    unsigned index = found - program.locations.begin();
    if (found == program.locations.end())
      program.locations.push_back({name.str()});
    return index;
  }

  const Ways &ways;
  Program program;
};
} // namespace

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

static Program acrossGPUs(const Ways &ways, unsigned line) {
  Script script("payload across GPUs", ways, line);
  Block sender = script.block("S"), receiver = script.block("R");
  script.store(sender, "data", 1);
  script.signal(sender, "flag", 1);
  script.wait(receiver, "flag", 1);
  script.load(receiver, "data", 1);
  return script.take();
}

static Program throughMiddle(const Ways &ways, unsigned line) {
  Script script("payload through a middle GPU", ways, line);
  Block sender = script.block("S"), middle = script.block("M"),
        receiver = script.block("R");
  script.store(sender, "data", 1);
  script.signal(sender, "flag", 1);
  script.wait(middle, "flag", 1);
  script.copy(middle, "data", "copy");
  script.signal(middle, "sent", 1);
  script.wait(receiver, "sent", 1);
  script.load(receiver, "copy", 1);
  return script.take();
}

static Program overwritten(const Ways &ways, unsigned line) {
  Script script("payload overwritten after READY", ways, line);
  Block receiver = script.block("R"), sender = script.block("S");
  script.begin("data", 1);
  script.load(receiver, "data", 1);
  script.end(receiver);
  script.signal(receiver, "ready", 2);
  script.wait(sender, "ready", 2);
  script.store(sender, "data", 2);
  return script.take();
}

static Program twoLaunches(const Ways &ways, unsigned line) {
  Script script("payload of two launches", ways, line);
  Block sender = script.block("S"), receiver = script.block("R");
  script.store(sender, "data", 1);
  script.signal(sender, "flag", 1);
  script.end(sender);
  script.wait(sender, "ready", 2);
  script.store(sender, "data", 2);
  script.signal(sender, "flag", 2);
  script.wait(receiver, "flag", 1);
  script.load(receiver, "data", 1);
  script.end(receiver);
  script.signal(receiver, "ready", 2);
  script.wait(receiver, "flag", 2);
  script.load(receiver, "data", 2);
  return script.take();
}

/// Calls `function` with each way through the helpers of `skeleton`.
static void forEachWay(const Skeleton &skeleton,
                       llvm::function_ref<void(const Ways &)> function) {
  // Where all threads take part, or none, there is one way less.
  auto orNothing = [](std::vector<FlagPath> paths) {
    if (paths.empty())
      paths.emplace_back();
    return paths;
  };
  for (const FlagPath &signal : skeleton.signal.withFlag)
    for (const FlagPath &signalWithout : orNothing(skeleton.signal.withoutFlag))
      for (const FlagPath &wait : skeleton.wait.withFlag)
        for (const FlagPath &waitWithout : orNothing(skeleton.wait.withoutFlag))
          for (const FlagPath &end : orNothing(skeleton.end.withoutFlag))
            for (AccessKind load : skeleton.payload.loads)
              for (AccessKind store : skeleton.payload.stores)
                function({signal, signalWithout, wait, waitWithout, end, load,
                          store});
}

//===----------------------------------------------------------------------===//
// LL words
//===----------------------------------------------------------------------===//

/// An access that is not strong towards all others may be torn.
static bool isWhole(AccessKind how) {
  return how.order != Order::Weak && how.scope == Scope::System;
}

/// A word is one if both accesses to it are whole, else its data and its
/// number.
static Program wholeWord(const Ways &ways, unsigned line) {
  Script script("LL word across GPUs", ways, line);
  Block sender = script.block("S"), receiver = script.block("R");
  bool isOne = isWhole(ways.load) && isWhole(ways.store);
  script.store(sender, isOne ? "word" : "data", 1);
  if (!isOne)
    script.store(sender, "number", 1);
  script.poll(receiver, isOne ? "word" : "number", 1);
  script.load(receiver, isOne ? "word" : "data", 1);
  return script.take();
}

/// With two halves of scratch a sender writes a word again two launches later,
/// when it has heard of the receiver's launch between.
static Program laterWord(const Ways &ways, unsigned line) {
  Script script("LL word two launches later", ways, line);
  Block sender = script.block("S"), receiver = script.block("R");
  script.store(sender, "word", 1);
  script.endLaunch(sender);
  script.poll(sender, "heard", 2);
  script.endLaunch(sender);
  script.store(sender, "word", 3);
  script.load(receiver, "word", Comparison::Equal, 3);
  script.endLaunch(receiver);
  script.store(receiver, "heard", 2);
  return script.take();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Result<std::vector<Program>> litmus::protocolOf(StringRef ptx) {
  assembly::Text text = assembly::parsePTX(ptx);
  Result<Skeleton> skeleton = skeletonOf(text);
  if (!skeleton)
    return Error{skeleton.error()};
  auto fail = [&](const llvm::Twine &message) {
    return Error{
        (llvm::Twine(std::max(skeleton->line, 1u)) + ":1: " + message).str()};
  };
  std::vector<Program> programs;
  if (skeleton->hasFlags)
    forEachWay(*skeleton, [&](const Ways &ways) {
      for (auto *make : {acrossGPUs, throughMiddle, overwritten, twoLaunches})
        if (programs.size() < maxPrograms)
          programs.push_back(make(ways, skeleton->line));
    });
  if (skeleton->hasFlags && programs.empty())
    return fail("no thread sets a flag and waits for it, or there is no "
                "payload");
  for (AccessKind load : skeleton->words.loads)
    for (AccessKind store : skeleton->words.stores)
      for (auto *make : {wholeWord, laterWord})
        programs.push_back(
            make({{}, {}, {}, {}, {}, load, store}, skeleton->line));
  if (programs.empty())
    return fail("there are neither flags nor LL words");
  if (programs.size() >= maxPrograms)
    return fail("there are too many ways through the helpers");
  return programs;
}
