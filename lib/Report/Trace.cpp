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

namespace {
class ChromeWriter {
public:
  ChromeWriter(llvm::raw_ostream &stream, const Trace &trace)
      : json(stream), trace(trace) {}
  void write();

private:
  void writeNames();
  void writeName(const char *what, unsigned rank, unsigned channel,
                 const std::string &name);
  void write(const TraceEvent &event);
  void writeArrows();
  void writeEnd(const TraceEvent &event, bool isBegin, double time,
                uint64_t number);
  void writePlace(const TraceEvent &event, double time) {
    json.attribute("pid", event.rank);
    json.attribute("tid", event.channel);
    json.attribute("ts", time);
  }

  llvm::json::OStream json;
  const Trace &trace;
};
} // namespace

void ChromeWriter::writeName(const char *what, unsigned rank, unsigned channel,
                             const std::string &name) {
  json.object([&] {
    json.attribute("name", what);
    json.attribute("ph", "M");
    json.attribute("pid", rank);
    json.attribute("tid", channel);
    json.attributeObject("args", [&] { json.attribute("name", name); });
  });
}

void ChromeWriter::writeNames() {
  std::map<unsigned, std::map<unsigned, bool>> channels;
  for (const TraceEvent &event : trace.events)
    channels[event.rank][event.channel] = true;
  for (const auto &[rank, ofRank] : channels) {
    writeName("process_name", rank, 0, "rank " + std::to_string(rank));
    for (const auto &[channel, isUsed] : ofRank)
      writeName("thread_name", rank, channel,
                "channel " + std::to_string(channel));
  }
}

void ChromeWriter::write(const TraceEvent &event) {
  json.object([&] {
    std::string name = nameOf(event.kind);
    if (event.peer != TraceEvent::noPeer)
      name += (event.isPull ? " from " : " to ") + std::to_string(event.peer);
    json.attribute("name", name);
    json.attribute("cat", nameOf(event.kind));
    json.attribute("ph", "X");
    writePlace(event, event.begin);
    json.attribute("dur", event.end - event.begin);
    if (event.bytes > 0)
      json.attributeObject("args",
                           [&] { json.attribute("bytes", event.bytes); });
  });
}

/// One end of an arrow: "s" where it starts, "f" where it finishes.
void ChromeWriter::writeEnd(const TraceEvent &event, bool isBegin, double time,
                            uint64_t number) {
  json.object([&] {
    json.attribute("name", "flag");
    json.attribute("cat", "flag");
    json.attribute("ph", isBegin ? "s" : "f");
    if (!isBegin)
      json.attribute("bp", "e");
    json.attribute("id", number);
    writePlace(event, time);
  });
}

void ChromeWriter::writeArrows() {
  using Key = std::pair<uint64_t, uint64_t>; // flag and value
  std::map<Key, const TraceEvent *> signals;
  for (const TraceEvent &event : trace.events)
    if (event.kind == Kind::Signal)
      signals.try_emplace({event.flag, event.value}, &event);
  uint64_t number = 0;
  for (const TraceEvent &event : trace.events) {
    if (event.kind != Kind::Wait)
      continue;
    // Flags only grow: any value from the one waited for on will do.
    auto it = signals.lower_bound({event.flag, event.value});
    if (it == signals.end() || it->first.first != event.flag)
      continue;
    ++number;
    writeEnd(*it->second, /*isBegin=*/true, it->second->begin, number);
    writeEnd(event, /*isBegin=*/false, event.end, number);
  }
}

void ChromeWriter::write() {
  json.object([&] {
    json.attribute("displayTimeUnit", "ns");
    json.attributeObject("otherData",
                         [&] { json.attribute("name", trace.name); });
    json.attributeArray("traceEvents", [&] {
      writeNames();
      for (const TraceEvent &event : trace.events)
        write(event);
      writeArrows();
    });
  });
}

std::string report::chromeText(const Trace &trace) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ChromeWriter(stream, trace).write();
  stream << '\n';
  return text;
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
