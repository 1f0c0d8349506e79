//===- Schedule.cpp - Steps of sends --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table is for reading, not for parsing: one row per link in use, one
// column per step.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Schedule.h"

#include "sccl/Model/SwitchLoads.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

using namespace sccl;

/// In 64 bits, because a schedule that somebody wrote may have any rounds.
static uint64_t totalRounds(const Schedule &schedule) {
  uint64_t total = 0;
  for (const Step &step : schedule.steps)
    total += step.rounds;
  return total;
}

unsigned Schedule::rounds() const {
  return static_cast<unsigned>(std::min<uint64_t>(
      totalRounds(*this), std::numeric_limits<unsigned>::max()));
}

size_t Schedule::numSends() const {
  size_t total = 0;
  for (const Step &step : steps)
    total += step.sends.size();
  return total;
}

bool Schedule::keepsArrivals() const {
  return std::ranges::any_of(steps, [](const Step &step) {
    return std::ranges::any_of(step.sends,
                               [](const Send &send) { return send.keep != 0; });
  });
}

/// Millions, as large schedules have them, are put in order of chunks by
/// counting first: each chunk has few of them.
static void sortSends(std::vector<Send> &sends) {
  constexpr size_t few = 4096;
  if (std::is_sorted(sends.begin(), sends.end()))
    return;
  auto byChunk = [](const Send &a, const Send &b) { return a.chunk < b.chunk; };
  size_t last = std::max_element(sends.begin(), sends.end(), byChunk)->chunk;
  if (sends.size() <= few || last > 4 * sends.size()) {
    std::sort(sends.begin(), sends.end());
    return;
  }
  std::vector<size_t> ends(last + 2);
  for (const Send &send : sends)
    ++ends[send.chunk + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  // What begins as the first place of a chunk ends behind its last one.
  std::vector<Send> sorted(sends.size());
  for (const Send &send : sends)
    sorted[ends[send.chunk]++] = send;
  size_t begin = 0;
  for (size_t chunk = 0; chunk <= last; begin = ends[chunk++])
    std::sort(sorted.begin() + begin, sorted.begin() + ends[chunk]);
  sends = std::move(sorted);
}

void Schedule::normalize() {
  for (Step &step : steps)
    sortSends(step.sends);
}

std::vector<ChunkRange> sccl::toRanges(const std::vector<uint32_t> &chunks) {
  std::vector<ChunkRange> ranges;
  for (size_t begin = 0; begin < chunks.size();) {
    size_t end = begin + 1;
    uint32_t stride = end < chunks.size() ? chunks[end] - chunks[begin] : 1;
    while (end < chunks.size() && chunks[end] - chunks[end - 1] == stride)
      ++end;
    // The second chunk of a pair may begin a longer range.
    if (end - begin == 2 && stride > 1)
      --end;
    uint32_t count = static_cast<uint32_t>(end - begin);
    ranges.push_back({chunks[begin], count, count == 1 ? 1 : stride});
    begin = end;
  }
  return ranges;
}

Cost sccl::costOf(const Schedule &schedule, const Collective &collective) {
  return Cost{static_cast<unsigned>(schedule.steps.size()),
              Rational(static_cast<int64_t>(totalRounds(schedule)),
                       static_cast<int64_t>(collective.chunks()))};
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

namespace {
/// Counts chunks per limit.
class LimitLoads {
public:
  explicit LimitLoads(const Topology &topology)
      : topology(topology), limitsOf(topology.links().size()),
        loads(topology.limits().size()), switches(topology) {
    for (unsigned i = 0; i < topology.limits().size(); ++i)
      for (unsigned link : topology.limits()[i].links)
        limitsOf[link].push_back(i);
  }

  void add(const Step &step) {
    for (const Send &send : step.sends) {
      std::optional<unsigned> link = topology.findLink(send.src, send.dst);
      if (!link)
        continue;
      if (!isInNetwork(send.transport))
        for (unsigned limit : limitsOf[*link])
          ++loads[limit];
      else
        switches.count(send, topology.links()[*link], limitsOf[*link],
                       [this](unsigned limit) { ++loads[limit]; });
    }
    switches.finishStep();
  }
  const std::vector<uint64_t> &byLimit() const { return loads; }
  /// The rounds that the fullest limit needs, in fractions.
  double fullest() const {
    double rounds = 0;
    for (unsigned i = 0; i < loads.size(); ++i)
      rounds = std::max(rounds, double(loads[i]) /
                                    double(topology.limits()[i].bandwidth));
    return rounds;
  }
  /// The rounds that they need; forgets them.
  unsigned takeRounds() {
    uint64_t rounds = 1;
    for (unsigned i = 0; i < loads.size(); ++i) {
      uint64_t bandwidth = topology.limits()[i].bandwidth;
      rounds = std::max(rounds, (loads[i] + bandwidth - 1) / bandwidth);
      loads[i] = 0;
    }
    return static_cast<unsigned>(rounds);
  }

private:
  const Topology &topology;
  std::vector<std::vector<unsigned>> limitsOf;
  std::vector<uint64_t> loads;
  SwitchLoads switches;
};
} // namespace

unsigned sccl::leastPeriod(const Schedule &schedule, const Topology &topology) {
  LimitLoads loads(topology);
  for (const Step &step : schedule.steps)
    loads.add(step);
  return loads.takeRounds();
}

std::vector<uint64_t> sccl::limitLoads(const Schedule &schedule,
                                       const Topology &topology) {
  LimitLoads loads(topology);
  for (const Step &step : schedule.steps)
    loads.add(step);
  return loads.byLimit();
}

double sccl::exactPeriod(const Schedule &schedule, const Topology &topology) {
  LimitLoads loads(topology);
  for (const Step &step : schedule.steps)
    loads.add(step);
  return loads.fullest();
}

void sccl::fitRounds(Schedule &schedule, const Topology &topology) {
  LimitLoads loads(topology);
  for (Step &step : schedule.steps) {
    loads.add(step);
    step.rounds = loads.takeRounds();
  }
}

PipelinedCost sccl::pipelinedCostOf(const Schedule &schedule,
                                    const Collective &collective) {
  return {static_cast<unsigned>(schedule.steps.size()),
          Rational(schedule.period, collective.chunks())};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Where a row stands: links in the topology's order, then those it lacks by
/// their ranks, so that a wrong schedule can be shown too.
struct RowKey {
  size_t position;
  uint32_t src, dst;
  auto operator<=>(const RowKey &) const = default;
};
using Row = std::vector<std::string>;
} // namespace

static std::string plural(uint64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

static std::string cellText(const Send &send) {
  std::string text = (send.action == SendAction::Reduce ? "+" : "") +
                     std::to_string(send.chunk) +
                     (send.payload == SendPayload::Input ? "*" : "");
  send.forEachKept(
      [&](unsigned number) { text += "'" + std::to_string(number); });
  return send.keep ? text + "=" + std::to_string(send.keep) : text;
}

static std::map<RowKey, Row> collectRows(const Schedule &schedule,
                                         const Topology &topology) {
  std::map<RowKey, Row> rows;
  for (size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Send &send : schedule.steps[step].sends) {
      size_t absent = topology.links().size();
      RowKey key{topology.findLink(send.src, send.dst).value_or(absent),
                 send.src, send.dst};
      auto [it, isNew] = rows.try_emplace(key, schedule.steps.size() + 1);
      if (isNew)
        it->second[0] = linkText(send.src, send.dst) +
                        (key.position == absent ? " (absent)" : "");
      std::string &cell = it->second[step + 1];
      cell += (cell.empty() ? "" : " ") + cellText(send);
    }
  }
  return rows;
}

static std::string formatRow(const Row &row, const std::vector<size_t> &width) {
  std::string line;
  for (size_t column = 0; column < row.size(); ++column) {
    line += column ? " | " : "";
    line += row[column];
    line.append(width[column] - row[column].size(), ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string sccl::toTable(const Schedule &schedule, const Topology &topology) {
  Row header = {"link"};
  for (size_t step = 0; step < schedule.steps.size(); ++step)
    header.push_back("step " + std::to_string(step) + " (" +
                     plural(schedule.steps[step].rounds, "round") + ")");
  std::map<RowKey, Row> rows = collectRows(schedule, topology);

  std::vector<size_t> width(header.size());
  for (size_t column = 0; column < header.size(); ++column) {
    width[column] = header[column].size();
    for (const auto &[key, row] : rows)
      width[column] = std::max(width[column], row[column].size());
  }

  std::string table = topology.name() + ": " +
                      plural(schedule.steps.size(), "step") + ", " +
                      plural(totalRounds(schedule), "round") + ", " +
                      plural(schedule.numSends(), "send");
  if (schedule.isPipelined())
    table += ", a piece every " + plural(schedule.period, "round");
  table += "\n";
  table += formatRow(header, width);
  for (const auto &[key, row] : rows)
    table += formatRow(row, width);
  return table;
}
