//===- Simulator.cpp - How long a program takes ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Simulate/Simulator.h"

#include "FairShare.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

using namespace sccl;

namespace {
using Kind = Action::Kind;

/// Something that happens at a time. Of events at the same time those made
/// first come first, so that results do not depend on the queue.
struct Event {
  enum class What : uint8_t {
    FlowBegins,
    FlowEnds,
    SliceEnds,
    PullArrives,
    FlagArrives,
    SignalEnds,
    WaitEnds,
    PauseEnds,
    BarrierEnds
  };
  double time;
  uint64_t order;
  What what;
  unsigned subject; ///< channel or flag
  uint64_t detail;  ///< version of the flow's rate, or value of the flag
  bool operator>(const Event &other) const {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

class Simulation {
public:
  Simulation(const Topology &topology, const Traffic &traffic,
             const Timing &timing, const SimulationOptions &options);
  Result<SimulationResult> run();

private:
  /// Where a channel is, and the flow of its present transfer.
  struct Cursor {
    size_t next = 0;
    double begun = 0;     ///< when, if somebody watches
    double bytes = 0;     ///< left of the flow
    double since = 0;     ///< when that was true
    double rate = 0;      ///< since then
    uint64_t version = 0; ///< of the flow's rate
    double signalled = 0; ///< when the last signal leaves, or has left
    bool isHeld = false;  ///< until then
    double sliceEnds = 0; ///< of the flow, for the warp that has signalled
  };
  struct Waiter {
    unsigned channel;
    uint64_t value;
  };

  const Action *actionOf(unsigned channel) const;
  void advance(unsigned channel);
  void runChannel(unsigned channel);
  bool execute(unsigned channel, const Action &action);
  bool startTransfer(unsigned channel, const Action &action);
  bool signal(unsigned channel, const Action &action);
  bool waitFor(unsigned channel, const Action &action);
  void endWait(unsigned channel);
  bool isLastWait(unsigned channel) const;
  bool hasNeighbour(unsigned channel, int distance) const;
  double capOf(unsigned channel, const Action &action, double bytes) const;
  bool isSignalling(unsigned channel, const Action &action);
  bool comeToBarrier(unsigned channel);
  void endBarrier();
  void beginFlow(unsigned channel);
  void endFlow(unsigned channel);
  void endTransfer(unsigned channel);
  void endAction(unsigned channel);
  void raiseFlag(unsigned flag, uint64_t value);
  void handle(const Event &event);
  void updateRates();
  void runReady();
  bool isOver();
  Error describeStuck() const;

  const std::vector<unsigned> &limitsOf(unsigned channel,
                                        const Action &action) const {
    if (action.switched != 0)
      return traffic.switched[action.switched - 1];
    return action.kind == Kind::Copy
               ? limitOfCopies[traffic.channels[channel].rank]
               : limitsOfLink[action.link];
  }
  void post(double time, Event::What what, unsigned subject, uint64_t detail) {
    events.push({time, posted++, what, subject, detail});
  }
  static std::vector<double> ratesOf(const Topology &topology,
                                     const Timing &timing);

  const Traffic &traffic;
  const Timing &timing;
  const SimulationOptions &options;
  std::vector<std::vector<unsigned>> limitsOfLink, limitOfCopies;
  FairShare shares;
  std::vector<Cursor> cursors;
  std::vector<uint64_t> values; ///< of flags
  std::vector<std::vector<Waiter>> waiters;
  std::vector<unsigned> atBarrier;
  std::vector<unsigned> ready; ///< channels that can go on
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  uint64_t posted = 0;
  uint64_t askedAt = 0; ///< events when `isOver` last was
  double now = 0;
  SimulationResult result;
};
} // namespace

/// Of the limits, then of the memory of each rank.
std::vector<double> Simulation::ratesOf(const Topology &topology,
                                        const Timing &timing) {
  std::vector<double> rates = timing.rates;
  rates.insert(rates.end(), topology.numRanks(), timing.copyRate);
  return rates;
}

Simulation::Simulation(const Topology &topology, const Traffic &traffic,
                       const Timing &timing, const SimulationOptions &options)
    : traffic(traffic), timing(timing), options(options),
      limitsOfLink(topology.links().size()),
      shares(ratesOf(topology, timing), unsigned(traffic.channels.size())),
      cursors(traffic.channels.size()), values(traffic.numFlags),
      waiters(traffic.numFlags) {
  const std::vector<BandwidthLimit> &limits = topology.limits();
  for (unsigned number = 0; number < limits.size(); ++number)
    for (unsigned link : limits[number].links)
      limitsOfLink[link].push_back(number);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    limitOfCopies.push_back(timing.copyRate > 0
                                ? std::vector{unsigned(limits.size()) + rank}
                                : std::vector<unsigned>());
  result.bytesOfLimit.resize(limits.size());
}

//===----------------------------------------------------------------------===//
// What a channel does
//===----------------------------------------------------------------------===//

/// Nothing at the end.
const Action *Simulation::actionOf(unsigned channel) const {
  const Cursor &cursor = cursors[channel];
  const std::vector<Action> &actions = traffic.channels[channel].actions;
  return cursor.next < actions.size() ? &actions[cursor.next] : nullptr;
}

void Simulation::advance(unsigned channel) {
  Cursor &cursor = cursors[channel];
  if (options.watch) {
    options.watch(channel, cursor.next, cursor.begun, now);
    cursor.begun = now;
  }
  ++cursor.next;
}

void Simulation::runChannel(unsigned channel) {
  while (const Action *action = actionOf(channel)) {
    if (!execute(channel, *action))
      return;
    advance(channel);
  }
}

/// True if the channel has to wait until a signal has left: one warp waits for
/// what was written before, and all meet for barriers and more signals.
bool Simulation::isSignalling(unsigned channel, const Action &action) {
  Cursor &cursor = cursors[channel];
  bool isMeeting = action.kind == Kind::Barrier ||
                   (action.kind == Kind::Signal && !hasNeighbour(channel, -1));
  return cursor.isHeld = isMeeting && !action.isWords && cursor.signalled > now;
}

/// Returns true if the channel can go on at once.
bool Simulation::execute(unsigned channel, const Action &action) {
  if (isSignalling(channel, action))
    return false;
  switch (action.kind) {
  case Kind::Push:
  case Kind::Pull:
  case Kind::Copy:
    return startTransfer(channel, action);
  case Kind::Signal:
    return signal(channel, action);
  case Kind::Wait:
    return waitFor(channel, action);
  case Kind::Barrier:
    return comeToBarrier(channel);
  case Kind::Pause:
    post(now + action.pause, Event::What::PauseEnds, channel, 0);
    return false;
  }
  return true;
}

bool Simulation::startTransfer(unsigned channel, const Action &action) {
  if (action.kind == Kind::Copy && timing.copyRate == 0 && timing.loadRate == 0)
    return true;
  double delay = timing.startTime;
  // The request goes there before the first byte leaves.
  if (action.kind == Kind::Pull)
    delay += timing.latencies[action.link];
  if (delay > 0)
    post(now + delay, Event::What::FlowBegins, channel, 0);
  else
    beginFlow(channel);
  return false;
}

/// True if the action so far from the present one is of its kind, and not of
/// words.
bool Simulation::hasNeighbour(unsigned channel, int distance) const {
  const std::vector<Action> &actions = traffic.channels[channel].actions;
  size_t at = cursors[channel].next, other = at + distance;
  return other < actions.size() && actions[other].kind == actions[at].kind &&
         !actions[other].isWords;
}

/// The first of several signals waits for what was written before.
bool Simulation::signal(unsigned channel, const Action &action) {
  double &leaves = cursors[channel].signalled;
  if (action.isWords || timing.signalTime == 0) {
    leaves = now;
  } else if (!hasNeighbour(channel, -1)) {
    leaves = now + timing.signalTime;
    post(leaves, Event::What::SignalEnds, channel, 0);
  }
  double latency =
      action.link == Action::noLink ? 0 : timing.latencies[action.link];
  post(leaves + latency, Event::What::FlagArrives, action.flag, action.value);
  return true;
}

bool Simulation::waitFor(unsigned channel, const Action &action) {
  if (values[action.flag] < action.value) {
    waiters[action.flag].push_back({channel, action.value});
    return false;
  }
  if (isLastWait(channel)) {
    endWait(channel);
    return false;
  }
  return true;
}

/// Threads go on some time after a flag has come, but not before a signal has
/// left: the warp that waits for that joins the others.
void Simulation::endWait(unsigned channel) {
  double end = std::max(now + timing.waitTime, cursors[channel].signalled);
  post(end, Event::What::WaitEnds, channel, 0);
}

/// True if threads go on some time after the present wait: the last of several.
bool Simulation::isLastWait(unsigned channel) const {
  return timing.flagTime() > 0 && !actionOf(channel)->isWords &&
         !hasNeighbour(channel, 1);
}

/// What a flow of `bytes` cannot be faster than: blocks keep no more of them in
/// flight, and wait for what they load.
double Simulation::capOf(unsigned channel, const Action &action,
                         double bytes) const {
  const Traffic::Channel &of = traffic.channels[channel];
  double blocks = traffic.blocks * of.spread;
  double cap = blocks * action.blockRate(timing);
  constexpr double underWay =
      64 * 256; // bytes of LL words in a block's threads
  bool isBeside = action.isBeside && bytes <= blocks * action.share * underWay;
  if (timing.accessTime == 0 || bytes == 0 || isBeside)
    return cap;
  // One piece after the other by all threads, or several at a time by teams.
  double access = timing.accessTime * action.accesses;
  auto timeOf = [&](unsigned turns, unsigned teams) {
    return turns * std::max(access, bytes / action.pieces * teams / cap);
  };
  unsigned turns = (action.pieces + action.teams - 1) / action.teams;
  return bytes /
         std::min(timeOf(action.pieces, 1), timeOf(turns, action.teams));
}

bool Simulation::comeToBarrier(unsigned channel) {
  atBarrier.push_back(channel);
  if (atBarrier.size() < traffic.channels.size())
    return false;
  post(now + timing.barrierTime, Event::What::BarrierEnds, channel, 0);
  return false;
}

void Simulation::endBarrier() {
  for (unsigned channel : atBarrier) {
    advance(channel);
    ready.push_back(channel);
  }
  atBarrier.clear();
}

//===----------------------------------------------------------------------===//
// Flows and flags
//===----------------------------------------------------------------------===//

void Simulation::beginFlow(unsigned channel) {
  const Action &action = *actionOf(channel);
  Cursor &cursor = cursors[channel];
  cursor.bytes = action.bytes * options.scale;
  cursor.since = now;
  cursor.rate = 0;
  const std::vector<unsigned> &through = limitsOf(channel, action);
  for (unsigned limit : through)
    if (limit < result.bytesOfLimit.size())
      result.bytesOfLimit[limit] += cursor.bytes;
  double cap = capOf(channel, action, cursor.bytes);
  // That warp has its slices after the others, as fast as it can.
  cursor.sliceEnds =
      cursor.signalled > now ? cursor.signalled + cursor.bytes / cap : 0;
  // A copy reads and writes each byte, a reduction reads several.
  shares.add(channel, through, cap,
             action.kind == Kind::Copy ? (action.inputs + 1) / 2.0 : 1);
  // What nothing limits takes no time.
  if (cursor.bytes == 0 || (through.empty() && std::isinf(cap)))
    post(now, Event::What::FlowEnds, channel, cursor.version);
}

void Simulation::endFlow(unsigned channel) {
  ++cursors[channel].version;
  shares.remove(channel);
  if (double end = cursors[channel].sliceEnds; end > now)
    post(end, Event::What::SliceEnds, channel, 0);
  else
    endTransfer(channel);
}

void Simulation::endTransfer(unsigned channel) {
  const Action &action = *actionOf(channel);
  // The last byte is on its way to who asked for it.
  if (action.kind == Kind::Pull && timing.latencies[action.link] > 0)
    post(now + timing.latencies[action.link], Event::What::PullArrives, channel,
         0);
  else
    endAction(channel);
}

void Simulation::endAction(unsigned channel) {
  advance(channel);
  ready.push_back(channel);
}

void Simulation::raiseFlag(unsigned flag, uint64_t value) {
  values[flag] = std::max(values[flag], value);
  std::erase_if(waiters[flag], [&](const Waiter &waiter) {
    if (waiter.value > values[flag])
      return false;
    if (isLastWait(waiter.channel))
      endWait(waiter.channel);
    else
      endAction(waiter.channel);
    return true;
  });
}

/// Settles what has flowed so far at the old rates, and says when the flows end
/// at the new ones.
void Simulation::updateRates() {
  for (unsigned channel : shares.update()) {
    Cursor &cursor = cursors[channel];
    double rate = shares.rate(channel);
    if (rate == cursor.rate)
      continue;
    cursor.bytes =
        std::max(cursor.bytes - cursor.rate * (now - cursor.since), 0.0);
    cursor.since = now;
    cursor.rate = rate;
    post(now + cursor.bytes / rate, Event::What::FlowEnds, channel,
         ++cursor.version);
  }
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void Simulation::handle(const Event &event) {
  switch (event.what) {
  case Event::What::FlowBegins:
    beginFlow(event.subject);
    break;
  case Event::What::FlowEnds:
    if (event.detail != cursors[event.subject].version)
      return; // its rate has changed since
    endFlow(event.subject);
    break;
  case Event::What::SignalEnds:
    if (cursors[event.subject].isHeld)
      ready.push_back(event.subject);
    break;
  case Event::What::SliceEnds:
    endTransfer(event.subject);
    break;
  case Event::What::PullArrives:
  case Event::What::WaitEnds:
  case Event::What::PauseEnds:
    endAction(event.subject);
    break;
  case Event::What::BarrierEnds:
    endBarrier();
    break;
  case Event::What::FlagArrives:
    raiseFlag(event.subject, event.detail);
    break;
  }
  ++result.events;
  result.microseconds = now;
}

void Simulation::runReady() {
  for (size_t i = 0; i < ready.size(); ++i)
    runChannel(ready[i]);
  ready.clear();
}

/// The clock is looked at after some thousand events only.
bool Simulation::isOver() {
  constexpr uint64_t interval = 4096;
  if (!options.isOver || result.events < askedAt + interval)
    return false;
  askedAt = result.events;
  return options.isOver();
}

Error Simulation::describeStuck() const {
  for (unsigned channel = 0; channel < cursors.size(); ++channel)
    if (actionOf(channel))
      return Error{"channel " + std::to_string(channel) + ", of rank " +
                   std::to_string(traffic.channels[channel].rank) +
                   ", waits for ever at its action " +
                   std::to_string(cursors[channel].next)};
  return Error{""};
}

Result<SimulationResult> Simulation::run() {
  now = result.microseconds = timing.launchTime;
  for (unsigned channel = 0; channel < cursors.size(); ++channel) {
    cursors[channel].begun = now;
    ready.push_back(channel);
  }
  runReady();
  updateRates();
  while (!events.empty()) {
    if (isOver())
      return Error{"the simulation was stopped"};
    // All that happens at one time, then the rates that follow.
    now = events.top().time;
    while (!events.empty() && events.top().time <= now) {
      Event event = events.top();
      events.pop();
      handle(event);
      runReady();
    }
    updateRates();
  }
  if (Error stuck = describeStuck(); !stuck.message.empty())
    return stuck;
  return std::move(result);
}

Result<SimulationResult> sccl::simulate(const Topology &topology,
                                        const Traffic &traffic,
                                        const Timing &timing,
                                        const SimulationOptions &options) {
  return Simulation(topology, traffic, timing, options).run();
}
