//===- Machine.cpp - GPUs that execute assembly ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Emulate/Machine.h"

#include "Runner.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <deque>
#include <map>

using namespace sccl;
using namespace sccl::emulate;

namespace {
/// A block of a kernel that runs.
struct Block {
  Team *team = nullptr;
  std::vector<std::unique_ptr<Runner>> runners;
  Settled settled;
  unsigned arrived = 0, done = 0; ///< runners
  uint64_t sleepsUntil = 0;       ///< this turn
};

struct Stream {
  /// Work returns true when it has been done.
  std::deque<std::function<bool()>> work;
  std::vector<Block> blocks;
  bool isLaunched = false;
  unsigned meetings = 0;
};

/// A runner that can go on.
struct Runnable {
  Block *block;
  Runner *runner;
};
} // namespace

struct Machine::State {
  State(const Code &code, unsigned numStreams, unsigned blocks,
        unsigned blockSize, const Settings &settings)
      : code(code.parts()), settings(settings),
        memory(settings.seed * 2 + 1, settings.weak), random(settings.seed),
        streams(numStreams), teams(numStreams * (blocks + 1)),
        blocksPerStream(blocks), blockSize(blockSize),
        executed(this->code.ops.size()) {
    for (uint32_t number = 0; number < teams.size(); ++number) {
      Team &team = teams[number];
      team.number = number;
      team.device = number / (blocks + 1);
      team.clock = Clock(teams.size());
      team.clock.addBefore(number, 1);
    }
    for (const Constant &constant : this->code.constants)
      memory.map(constant);
  }

  Team &hostOf(unsigned stream) {
    return teams[stream * (blocksPerStream + 1) + blocksPerStream];
  }
  Team &teamOf(unsigned stream, unsigned block) {
    return teams[stream * (blocksPerStream + 1) + block];
  }
  void actAsHost(unsigned stream, const std::function<void(Actor &)> &act);
  bool runKernel(unsigned stream, const Launch &launch);
  void start(unsigned stream, const Launch &launch);
  void finish(unsigned stream);
  bool meet(unsigned stream, unsigned number);
  void openBarrier(Block &block);
  bool advance();
  void turn(size_t index);
  bool isStopped() const;
  void run();

  const Code::Parts &code;
  Settings settings;
  Memory memory;
  std::mt19937_64 random;
  std::vector<Stream> streams;
  std::vector<Team> teams;
  unsigned blocksPerStream, blockSize, meetings = 0;
  std::map<unsigned, Clock> meetingClocks; ///< what all know after each
  std::vector<Runnable> runnable;
  std::vector<uint64_t> executed;
  uint64_t turns = 0, idleTurns = 0, instructions = 0;
  bool isStuck = false;
};

//===----------------------------------------------------------------------===//
// Work of streams
//===----------------------------------------------------------------------===//

void Machine::State::actAsHost(unsigned stream,
                               const std::function<void(Actor &)> &act) {
  Actor actor;
  actor.team = &hostOf(stream);
  actor.thread = actor.team->number * blockSize;
  act(actor);
  // What comes next in the stream comes after it.
  Team &host = *actor.team;
  host.clock.addBefore(host.number, ++host.interval);
}

void Machine::State::start(unsigned stream, const Launch &launch) {
  Stream &owner = streams[stream];
  owner.isLaunched = true;
  owner.blocks = std::vector<Block>(launch.blocks);
  unsigned runners = llvm::divideCeil(blockSize, code.lanes());
  for (uint32_t b = 0; b < launch.blocks; ++b) {
    Block &block = owner.blocks[b];
    block.team = &teamOf(stream, b);
    block.team->clock.join(hostOf(stream).clock);
    block.settled = {block.team->clock, block.team->clock};
    if (random() % 4 == 0)
      block.sleepsUntil = turns + random() % 4096;
    for (uint32_t r = 0; r < runners; ++r) {
      block.runners.push_back(code.start(launch, b, r));
      Actor &actor = block.runners.back()->actor;
      actor.team = block.team;
      actor.thread = block.team->number * blockSize + r;
      block.runners.back()->resume(block.settled);
      runnable.push_back({&block, block.runners.back().get()});
    }
  }
}

/// The end of a kernel joins all of its runners.
void Machine::State::finish(unsigned stream) {
  Team &host = hostOf(stream);
  for (Block &block : streams[stream].blocks) {
    Team &team = *block.team;
    for (const std::unique_ptr<Runner> &runner : block.runners)
      if (runner->actor.own)
        team.clock.join(*runner->actor.own);
    team.clock.addBefore(team.number, ++team.interval);
    host.clock.join(team.clock);
  }
  streams[stream].blocks.clear();
  streams[stream].isLaunched = false;
}

bool Machine::State::runKernel(unsigned stream, const Launch &launch) {
  Stream &owner = streams[stream];
  if (!owner.isLaunched)
    start(stream, launch);
  for (const Block &block : owner.blocks)
    if (block.done != block.runners.size())
      return false;
  finish(stream);
  return true;
}

bool Machine::State::meet(unsigned stream, unsigned number) {
  Clock &atMeeting =
      meetingClocks.try_emplace(number, teams.size()).first->second;
  if (streams[stream].meetings < number)
    atMeeting.join(hostOf(stream).clock);
  streams[stream].meetings = number;
  for (const Stream &other : streams)
    if (other.meetings < number)
      return false;
  hostOf(stream).clock.join(atMeeting);
  return true;
}

//===----------------------------------------------------------------------===//
// Runners
//===----------------------------------------------------------------------===//

void Machine::State::openBarrier(Block &block) {
  Team &team = *block.team;
  block.settled.isIdle = true;
  for (const std::unique_ptr<Runner> &runner : block.runners)
    runner->settle(block.settled);
  for (const std::unique_ptr<Runner> &runner : block.runners) {
    Actor &actor = runner->actor;
    if (actor.own)
      team.clock.join(*actor.own);
    actor.own.reset();
    runnable.push_back({&block, runner.get()});
  }
  team.clock.addBefore(team.number, ++team.interval);
  if (block.settled.isIdle)
    block.settled.performed = team.clock;
  for (const std::unique_ptr<Runner> &runner : block.runners)
    runner->resume(block.settled);
  block.arrived = 0;
}

/// Gives one runner a turn.
void Machine::State::turn(size_t index) {
  ++turns;
  ++idleTurns;
  Runnable chosen = runnable[index];
  Block &block = *chosen.block;
  if (turns < block.sleepsUntil && random() % 64 != 0)
    return;
  if (random() % 8192 == 0)
    block.sleepsUntil = turns + random() % 16384;
  uint64_t before = memory.stores();
  uint64_t length = uint64_t(1) << (random() % 10);
  Runner &runner = *chosen.runner;
  runner.time = 1 + instructions + settings.clockDistance * block.team->device;
  instructions += length;
  Runner::Stop stop = runner.run(memory, length, executed);
  if (stop != Runner::Stop::Turn) {
    runnable[index] = runnable.back();
    runnable.pop_back();
    (stop == Runner::Stop::Done ? block.done : block.arrived) += 1;
  }
  if (memory.stores() != before || stop != Runner::Stop::Turn)
    idleTurns = 0;
  if (block.arrived != 0 &&
      block.arrived + block.done == block.runners.size()) {
    if (block.done != 0)
      memory.report(FindingKind::Divergence,
                    "threads of block " + std::to_string(block.team->number) +
                        " wait at a barrier that others do not come to");
    openBarrier(block);
  }
}

bool Machine::State::isStopped() const {
  for (const Finding &finding : memory.findings())
    if (finding.kind != FindingKind::Race)
      return true;
  return false;
}

/// Does what streams have come to; returns whether any work is left.
bool Machine::State::advance() {
  bool isLeft = false;
  for (Stream &stream : streams) {
    while (!stream.work.empty() && stream.work.front()()) {
      stream.work.pop_front();
      idleTurns = 0;
    }
    isLeft |= !stream.work.empty();
  }
  return isLeft;
}

void Machine::State::run() {
  while (advance() && !isStopped()) {
    // Until something happens that a stream may wait for.
    for (unsigned i = 0; i < 64 && !runnable.empty() && !isStopped(); ++i)
      turn(random() % runnable.size());
    uint64_t most = 20000 + 400 * uint64_t(runnable.size());
    if (idleTurns > most || instructions > settings.instructions ||
        (runnable.empty() && ++idleTurns > most))
      memory.report(FindingKind::NoProgress,
                    std::to_string(runnable.size()) +
                        " threads wait for what does not happen");
  }
}

//===----------------------------------------------------------------------===//
// Machine
//===----------------------------------------------------------------------===//

Machine::Machine(const Code &code, unsigned streams, unsigned blocks,
                 unsigned blockSize, const Settings &settings)
    : state(std::make_unique<State>(code, streams, blocks, blockSize,
                                    settings)) {}
Machine::~Machine() = default;

uint64_t Machine::allocate(uint64_t bytes, std::string name) {
  return state->memory.allocate(bytes, std::move(name));
}

uint64_t Machine::allocateConstant(const void *data, uint64_t bytes,
                                   std::string name) {
  uint64_t address = state->memory.allocate(bytes, std::move(name), true);
  state->memory.initialize(address, data, bytes);
  return address;
}

uint64_t Machine::allocateMulticast(
    const std::vector<std::pair<uint64_t, uint64_t>> &members,
    std::string name) {
  std::vector<Member> bound;
  for (auto [address, bytes] : members)
    bound.push_back({address, bytes});
  return state->memory.allocateMulticast(std::move(bound), std::move(name));
}

void Machine::launch(unsigned stream, const std::string &kernel,
                     unsigned blocks, std::vector<uint64_t> arguments) {
  llvm::ArrayRef<FunctionName> functions = state->code.functions;
  const auto *found = llvm::find_if(functions, [&](const FunctionName &each) {
    return each.isKernel && each.name == kernel;
  });
  if (found == functions.end())
    return state->memory.report(FindingKind::Fault, "no kernel " + kernel);
  Launch launch{uint32_t(found - functions.begin()), blocks, state->blockSize,
                std::move(arguments), 0};
  launch.argumentsAt =
      allocateConstant(launch.arguments.data(), 8 * launch.arguments.size(),
                       "the arguments of " + kernel);
  state->streams[stream].work.push_back([=, this, launch = std::move(launch)] {
    return state->runKernel(stream, launch);
  });
}

void Machine::write(unsigned stream, uint64_t address, std::string bytes) {
  state->streams[stream].work.push_back([=, this] {
    state->actAsHost(stream, [&](Actor &actor) {
      for (size_t i = 0; i < bytes.size(); ++i)
        state->memory.store(actor, address + i, 1, uint8_t(bytes[i]),
                            Order::Weak, Scope::System, 0);
    });
    return true;
  });
}

void Machine::read(unsigned stream, uint64_t address, uint64_t bytes,
                   std::function<void(const std::string &)> use) {
  state->streams[stream].work.push_back([=, this] {
    std::string data(bytes, 0);
    state->actAsHost(stream, [&](Actor &actor) {
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = char(state->memory.load(actor, address + i, 1, Order::Weak,
                                          Scope::System, 0));
    });
    use(data);
    return true;
  });
}

void Machine::meet() {
  unsigned number = ++state->meetings;
  for (unsigned stream = 0; stream < state->streams.size(); ++stream)
    state->streams[stream].work.push_back(
        [=, this] { return state->meet(stream, number); });
}

void Machine::run() { state->run(); }
const Findings &Machine::findings() const { return state->memory.findings(); }
Execution Machine::execution() const {
  Execution result;
  result.byOpcode.resize(state->code.opcodes.size());
  for (size_t number = 0; number < state->executed.size(); ++number) {
    const OpPlace &op = state->code.ops[number];
    uint64_t count = state->executed[number];
    result.instructions += count;
    result.byOpcode[op.name] += count;
    if (count != 0)
      result.lines.insert(op.line);
  }
  return result;
}
