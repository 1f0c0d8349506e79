//===- Trace.cpp - What channels did when ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Report/Trace.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>

using namespace sccl;
using namespace sccl::report;
using Kind = TraceEvent::Kind;

static const char *nameOf(Kind kind) {
  switch (kind) {
  case Kind::Wait:
    return "wait";
  case Kind::Transfer:
    return "transfer";
  case Kind::Reduce:
    return "reduce";
  case Kind::Copy:
    return "copy";
  case Kind::Signal:
    return "signal";
  case Kind::Barrier:
    return "barrier";
  }
  return "";
}

/// Numbers of processes and arrows of a model beside those of what was
/// measured.
static constexpr unsigned modelStart = 1 << 24;

namespace {
class ChromeWriter {
public:
  ChromeWriter(llvm::raw_ostream &stream, const Trace &trace, bool isModel)
      : json(stream), trace(trace), isModel(isModel) {
    placeEvents();
  }
  void write();

private:
  /// Of what overlaps on a channel, which of its threads an event is on.
  void placeEvents();
  void writeNames();
  template <typename T>
  void writeProperty(const char *what, unsigned rank, unsigned thread,
                     const char *key, const T &value);
  std::string nameOfChannel(unsigned channel) const;
  void write(const TraceEvent &event, unsigned thread);
  void writeArrows();
  void writeEnd(size_t event, bool isBegin, double time, uint64_t number);
  unsigned processOf(unsigned rank) const {
    return isModel ? modelStart + rank : rank;
  }
  void writePlace(const TraceEvent &event, unsigned thread, double time) {
    json.attribute("pid", processOf(event.rank));
    json.attribute("tid", thread);
    json.attribute("ts", time);
  }
  static bool isSent(const TraceEvent &event) {
    return event.kind == Kind::Signal ||
           (event.kind == Kind::Transfer && event.value != 0);
  }

  llvm::json::OStream json;
  const Trace &trace;
  bool isModel;
  std::vector<unsigned> threads; ///< by event
  /// By rank and thread, its channel.
  std::map<unsigned, std::map<unsigned, unsigned>> channels;
};
} // namespace

void ChromeWriter::placeEvents() {
  constexpr unsigned channelsBetween = 1 << 16;
  // By rank and channel, when its threads are free.
  std::map<std::pair<unsigned, unsigned>, std::vector<double>> free;
  for (const TraceEvent &event : trace.events) {
    std::vector<double> &ends = free[{event.rank, event.channel}];
    size_t lane = 0;
    while (trace.isOfMessages && lane < ends.size() && ends[lane] > event.begin)
      ++lane;
    if (lane == ends.size())
      ends.push_back(0);
    ends[lane] = event.end;
    threads.push_back(event.channel + lane * channelsBetween);
    channels[event.rank][threads.back()] = event.channel;
  }
}

template <typename T>
void ChromeWriter::writeProperty(const char *what, unsigned rank,
                                 unsigned thread, const char *key,
                                 const T &value) {
  json.object([&] {
    json.attribute("name", what);
    json.attribute("ph", "M");
    json.attribute("pid", processOf(rank));
    json.attribute("tid", thread);
    json.attributeObject("args", [&] { json.attribute(key, value); });
  });
}

std::string ChromeWriter::nameOfChannel(unsigned channel) const {
  if (!trace.isOfMessages)
    return "channel " + std::to_string(channel);
  if (channel == 0)
    return "computing";
  unsigned peer = (channel - 1) / 2;
  return (channel % 2 == 1 ? "to " : "from ") + std::to_string(peer);
}

void ChromeWriter::writeNames() {
  for (const auto &[rank, ofRank] : channels) {
    std::string name = "rank " + std::to_string(rank);
    writeProperty("process_name", rank, 0, "name",
                  isModel ? name + ", model" : name);
    // Those of a rank above each other.
    writeProperty("process_sort_index", rank, 0, "sort_index",
                  2 * rank + isModel);
    unsigned place = 0;
    std::map<std::pair<unsigned, unsigned>, unsigned> order;
    for (const auto &[thread, channel] : ofRank)
      order[{channel, thread}] = thread;
    for (const auto &[key, thread] : order) {
      writeProperty("thread_name", rank, thread, "name",
                    nameOfChannel(key.first));
      writeProperty("thread_sort_index", rank, thread, "sort_index", place++);
    }
  }
}

void ChromeWriter::write(const TraceEvent &event, unsigned thread) {
  json.object([&] {
    std::string name = nameOf(event.kind);
    if (event.peer != TraceEvent::noPeer)
      name += (event.isPull ? " from " : " to ") + std::to_string(event.peer);
    json.attribute("name", name);
    json.attribute("cat", nameOf(event.kind));
    json.attribute("ph", "X");
    writePlace(event, thread, event.begin);
    json.attribute("dur", event.end - event.begin);
    if (event.bytes > 0)
      json.attributeObject("args",
                           [&] { json.attribute("bytes", event.bytes); });
  });
}

/// One end of an arrow: "s" where it starts, "f" where it finishes.
void ChromeWriter::writeEnd(size_t event, bool isBegin, double time,
                            uint64_t number) {
  json.object([&] {
    json.attribute("name", "flag");
    json.attribute("cat", "flag");
    json.attribute("ph", isBegin ? "s" : "f");
    if (!isBegin)
      json.attribute("bp", "e");
    json.attribute("id", number);
    writePlace(trace.events[event], threads[event], time);
  });
}

void ChromeWriter::writeArrows() {
  using Key = std::pair<uint64_t, uint64_t>; // flag and value
  std::map<Key, size_t> signals;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (const TraceEvent &event = trace.events[i]; isSent(event))
      signals.try_emplace({event.flag, event.value}, i);
  uint64_t number = isModel ? modelStart : 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent &event = trace.events[i];
    if (event.kind != Kind::Wait)
      continue;
    // Flags only grow: any value from the one waited for on will do.
    auto it = signals.lower_bound({event.flag, event.value});
    if (it == signals.end() || it->first.first != event.flag)
      continue;
    ++number;
    writeEnd(it->second, /*isBegin=*/true, trace.events[it->second].begin,
             number);
    writeEnd(i, /*isBegin=*/false, event.end, number);
  }
}

void ChromeWriter::write() {
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeObject("otherData", [&] {
      json.attribute("name", trace.name);
      if (trace.isOfMessages)
        json.attribute("messages", true);
    });
    json.attributeArray("traceEvents", [&] {
      writeNames();
      for (size_t i = 0; i < trace.events.size(); ++i)
        write(trace.events[i], threads[i]);
      writeArrows();
    });
  });
}

static std::string textOf(const Trace &trace, bool isModel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ChromeWriter(stream, trace, isModel).write();
  stream << '\n';
  return text;
}

std::string report::chromeText(const Trace &trace) {
  return textOf(trace, /*isModel=*/false);
}

//===----------------------------------------------------------------------===//
// Beside each other
//===----------------------------------------------------------------------===//

/// The array of events in a text, and their ranks; null if there is none.
static llvm::json::Array *findEvents(llvm::json::Value &value,
                                     std::set<int64_t> &ranks) {
  llvm::json::Object *object = value.getAsObject();
  llvm::json::Array *events =
      object ? object->getArray("traceEvents") : nullptr;
  if (!events)
    return nullptr;
  for (const llvm::json::Value &entry : *events) {
    const llvm::json::Object *event = entry.getAsObject();
    std::optional<int64_t> rank =
        event ? event->getInteger("pid") : std::nullopt;
    if (!rank || *rank < 0 || *rank >= modelStart)
      return nullptr;
    ranks.insert(*rank);
  }
  return events;
}

Result<RecordedTrace> RecordedTrace::parse(const std::string &text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return Error{"is no JSON: " + llvm::toString(value.takeError())};
  RecordedTrace trace;
  trace.value = std::make_shared<llvm::json::Value>(std::move(*value));
  if (!findEvents(*trace.value, trace.ranks))
    return Error{"is no trace of what ranks did"};
  return trace;
}

bool RecordedTrace::isOfMessages() const {
  const llvm::json::Object *data = value->getAsObject()->getObject("otherData");
  return data && data->getBoolean("messages").value_or(false);
}

Result<std::string> RecordedTrace::withModel(const Trace &model) && {
  std::set<int64_t> ofModel;
  for (const TraceEvent &event : model.events)
    ofModel.insert(event.rank);
  if (ranks != ofModel)
    return Error{"is of " + std::to_string(ranks.size()) +
                 " ranks, the program has " + std::to_string(ofModel.size())};
  llvm::json::Value own =
      llvm::cantFail(llvm::json::parse(textOf(model, /*isModel=*/true)));
  llvm::json::Array &events = *value->getAsObject()->getArray("traceEvents");
  for (llvm::json::Value &event : *own.getAsObject()->getArray("traceEvents"))
    events.push_back(std::move(event));
  std::string result;
  llvm::raw_string_ostream(result) << *value << '\n';
  return result;
}

//===----------------------------------------------------------------------===//
// Simulated
//===----------------------------------------------------------------------===//

static TraceEvent eventOf(const Topology &topology, unsigned rank,
                          const Action &action) {
  TraceEvent event{rank, 0, Kind::Copy, 0, 0};
  bool isBetweenRanks = action.link != Action::noLink;
  switch (action.kind) {
  case Action::Kind::Push:
  case Action::Kind::Pull:
    event.kind = Kind::Transfer;
    event.isPull = action.kind == Action::Kind::Pull;
    if (isBetweenRanks) {
      const Link &link = topology.links()[action.link];
      event.peer = link.src == rank ? link.dst : link.src;
    }
    break;
  case Action::Kind::Copy:
    break;
  case Action::Kind::Signal:
    event.kind = Kind::Signal;
    break;
  case Action::Kind::Wait:
  case Action::Kind::Pause:
    event.kind = Kind::Wait;
    break;
  case Action::Kind::Barrier:
    event.kind = Kind::Barrier;
    break;
  }
  event.bytes = action.bytes;
  event.flag = action.flag;
  event.value = action.value;
  return event;
}

Result<Trace> report::traceOf(const std::string &name, const Topology &topology,
                              const Traffic &traffic, const Timing &timing) {
  Trace trace{name, {}};
  std::vector<unsigned> numberOf, ofRank(topology.numRanks());
  for (const Traffic::Channel &channel : traffic.channels)
    numberOf.push_back(ofRank[channel.rank]++);
  SimulationOptions options;
  options.watch = [&](unsigned channel, size_t action, double begin,
                      double end) {
    const Traffic::Channel &of = traffic.channels[channel];
    TraceEvent event = eventOf(topology, of.rank, of.actions[action]);
    event.channel = numberOf[channel];
    event.begin = begin;
    event.end = end;
    trace.events.push_back(event);
  };
  Result<SimulationResult> result =
      simulate(topology, traffic, timing, options);
  if (!result)
    return Error{result.error()};
  return trace;
}

//===----------------------------------------------------------------------===//
// As messages
//===----------------------------------------------------------------------===//

namespace {
/// What flags of simulated channels are for.
class MessageFlags {
public:
  explicit MessageFlags(const Trace &trace);
  /// The rank whose message a wait is for; nothing if it is for none, as those
  /// that ask whether a receiver is ready.
  std::optional<unsigned> senderOf(const TraceEvent &wait) const {
    auto it = senders.find(wait.flag);
    return it == senders.end() ? std::nullopt : std::optional(it->second);
  }
  /// The signal that says that the transfer of this number has come; or null.
  const TraceEvent *signalOf(size_t transfer) const {
    auto it = signals.find(transfer);
    return it == signals.end() ? nullptr : it->second;
  }

private:
  std::map<uint64_t, unsigned> senders;         ///< by flag
  std::map<size_t, const TraceEvent *> signals; ///< by number of the event
};
} // namespace

/// A signal after a transfer, to whom that goes, is part of the message.
MessageFlags::MessageFlags(const Trace &trace) {
  std::map<uint64_t, unsigned> waiters;
  for (const TraceEvent &event : trace.events)
    if (event.kind == Kind::Wait)
      waiters[event.flag] = event.rank;
  std::map<std::pair<unsigned, unsigned>, size_t> last; // by rank and channel
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent &event = trace.events[i];
    std::pair channel(event.rank, event.channel);
    if (event.kind == Kind::Transfer)
      last[channel] = i;
    if (event.kind != Kind::Signal)
      continue;
    auto transfer = last.find(channel);
    auto waiter = waiters.find(event.flag);
    if (transfer == last.end() || waiter == waiters.end() ||
        trace.events[transfer->second].peer != waiter->second)
      continue;
    senders[event.flag] = event.rank;
    signals[transfer->second] = &event;
    last.erase(transfer);
  }
}

Trace report::asMessages(const Trace &trace) {
  MessageFlags flags(trace);
  Trace messages{trace.name, {}, /*isOfMessages=*/true};
  for (size_t i = 0; i < trace.events.size(); ++i) {
    TraceEvent event = trace.events[i];
    event.channel = 0;
    if (event.kind == Kind::Signal)
      continue;
    if (event.kind == Kind::Wait) {
      std::optional<unsigned> sender = flags.senderOf(event);
      if (!sender)
        continue;
      event.peer = *sender;
      event.isPull = true;
      event.channel = 2 + 2 * *sender;
    }
    if (event.kind == Kind::Transfer && event.peer != TraceEvent::noPeer) {
      event.channel = (event.isPull ? 2 : 1) + 2 * event.peer;
      if (const TraceEvent *signal = flags.signalOf(i)) {
        event.flag = signal->flag;
        event.value = signal->value;
      }
    }
    messages.events.push_back(event);
  }
  return messages;
}
