//===- SchedulePictures.cpp - Steps, and trees of chunks ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include <algorithm>
#include <cmath>

using namespace sccl;
using namespace sccl::report;

static std::string hueOf(unsigned chunk, const Collective &collective) {
  // Chunks of one rank, or of one destination, have one hue.
  unsigned group = chunk / std::max(collective.chunksPerSegment(), 1u);
  return "hue" + std::to_string(group % 8);
}

//===----------------------------------------------------------------------===//
// Ranks and steps
//===----------------------------------------------------------------------===//

namespace {
/// What goes from one group of ranks to another in a step.
struct Bundle {
  size_t sends = 0;
  bool reduces = false;
  std::vector<unsigned> chunks; ///< the first few
};
using Bundles = std::map<std::pair<unsigned, unsigned>, Bundle>;
} // namespace

static Bundles bundle(const Step &step, const std::vector<unsigned> &groupOf) {
  constexpr size_t shown = 8;
  Bundles bundles;
  for (const Send &send : step.sends) {
    Bundle &bundle = bundles[{groupOf[send.src], groupOf[send.dst]}];
    ++bundle.sends;
    bundle.reduces |= send.action == SendAction::Reduce;
    if (bundle.chunks.size() < shown)
      bundle.chunks.push_back(send.chunk);
  }
  return bundles;
}

static std::string titleOf(const Bundle &bundle, const std::string &src,
                           const std::string &dst, size_t step) {
  std::string text = "step " + std::to_string(step) + ": " + src + " -> " +
                     dst + (bundle.reduces ? ", reduces chunks" : ", chunks");
  for (size_t i = 0; i < bundle.chunks.size(); ++i)
    text += (i == 0 ? " " : ", ") + std::to_string(bundle.chunks[i]);
  if (bundle.sends > bundle.chunks.size())
    text +=
        " and " + std::to_string(bundle.sends - bundle.chunks.size()) + " more";
  return text;
}

std::string report::stepsPicture(const Subject &subject,
                                 const RankGroups &groups, PictureFor use) {
  constexpr double left = 90, top = 50, row = 26, column = 150;
  const Schedule &schedule = subject.schedule;
  std::vector<unsigned> groupOf(subject.topology.numRanks());
  for (unsigned group = 0; group < groups.size(); ++group)
    for (unsigned rank : groups[group])
      groupOf[rank] = group;
  double width = left + column * double(schedule.steps.size()) + 30;
  double height = top + row * double(groups.size()) + 10;
  Svg svg(width, height, subject.name + ", ranks and steps", use);
  for (size_t group = 0; group < groups.size(); ++group) {
    double y = top + row * double(group);
    svg.line({left, y}, {width - 30, y}, "life");
    svg.text({left - 10, y + 4}, nameOfRanks(groups[group]), "", "end");
  }
  svg.text({left - 10, top - 26}, "rank", "head", "end");
  for (size_t number = 0; number < schedule.steps.size(); ++number) {
    const Step &step = schedule.steps[number];
    double x = left + column * double(number);
    svg.text({x + column / 2, top - 26},
             "step " + std::to_string(number) + ", " +
                 std::to_string(step.rounds) +
                 (step.rounds == 1 ? " round" : " rounds"),
             "head", "middle");
    svg.into(svg.group("step"));
    for (const auto &[ends, bundle] : bundle(step, groupOf)) {
      auto [src, dst] = ends;
      pugi::xml_node line = svg.line(
          {x + 14, top + row * src}, {x + column - 14, top + row * dst},
          "send " + hueOf(bundle.chunks.front(), subject.collective));
      Svg::set(line, "stroke-width",
               std::min(1 + 0.7 * std::log2(double(bundle.sends)), 8.0));
      if (bundle.reduces)
        Svg::set(line, "stroke-dasharray", "5 4");
      Svg::setTitle(line, titleOf(bundle, nameOfRanks(groups[src]),
                                  nameOfRanks(groups[dst]), number));
    }
    svg.intoAll();
  }
  return svg.str();
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {
struct TreeEdge {
  size_t step;
  Send send;
};

/// The way of one chunk. Ranks have columns such that those that one rank
/// sends to are beside each other.
struct ChunkWay {
  unsigned chunk;
  std::vector<TreeEdge> edges;
  std::map<unsigned, double> columns; ///< by rank
};
} // namespace

/// Gives `rank` and all that it leads to columns, the leaves first.
static void addColumns(ChunkWay &way, unsigned rank, double &next) {
  if (!way.columns.emplace(rank, next).second)
    return;
  double first = next;
  bool hasChild = false;
  for (const TreeEdge &edge : way.edges) {
    bool isReduction = edge.send.action != SendAction::Copy;
    unsigned upper = isReduction ? edge.send.dst : edge.send.src;
    unsigned lower = isReduction ? edge.send.src : edge.send.dst;
    if (upper != rank || way.columns.contains(lower))
      continue;
    addColumns(way, lower, next);
    hasChild = true;
  }
  if (!hasChild)
    next += 1;
  else
    way.columns[rank] = (first + next - 1) / 2;
}

static ChunkWay wayOf(const Subject &subject, unsigned chunk) {
  ChunkWay way{chunk, {}, {}};
  const Schedule &schedule = subject.schedule;
  for (size_t step = 0; step < schedule.steps.size(); ++step)
    for (const Send &send : schedule.steps[step].sends)
      if (send.chunk == chunk)
        way.edges.push_back({step, send});
  double next = 0;
  // From where it ends if it is reduced, else from where it begins.
  for (const TreeEdge &edge : way.edges)
    if (edge.send.action == SendAction::Copy)
      addColumns(way, edge.send.src, next);
  for (size_t i = way.edges.size(); i-- > 0;)
    if (way.edges[i].send.action != SendAction::Copy)
      addColumns(way, way.edges[i].send.dst, next);
  return way;
}

static double drawWay(Svg &svg, const ChunkWay &way, const Subject &subject,
                      double left, double top, double row) {
  constexpr double column = 30;
  std::string hue = "send " + hueOf(way.chunk, subject.collective);
  double width = 1;
  for (const auto &[rank, at] : way.columns)
    width = std::max(width, at + 1);
  auto placeOf = [&](unsigned rank, size_t step) {
    return Place{left + column * (way.columns.at(rank) + 0.5),
                 top + row * double(step)};
  };
  svg.into(svg.group("tree"));
  svg.text({left + column * width / 2, top - 26},
           "chunk " + std::to_string(way.chunk), "head", "middle");
  std::map<std::pair<unsigned, size_t>, Place> dots;
  for (const TreeEdge &edge : way.edges) {
    const Send &send = edge.send;
    Place from = placeOf(send.src, edge.step);
    Place to = placeOf(send.dst, edge.step + 1);
    pugi::xml_node line = svg.line(from, to, hue);
    Svg::set(line, "stroke-width", 1.5);
    if (send.action != SendAction::Copy)
      Svg::set(line, "stroke-dasharray", "5 4");
    Svg::setTitle(line, "step " + std::to_string(edge.step) + ": " +
                            linkText(send.src, send.dst));
    dots[{send.src, edge.step}] = from;
    dots[{send.dst, edge.step + 1}] = to;
  }
  // A rank keeps what it has until it sends it on.
  for (auto it = dots.begin(); it != dots.end(); ++it)
    if (auto next = std::next(it);
        next != dots.end() && next->first.first == it->first.first)
      svg.line(it->second, next->second, "life");
  for (const auto &[key, at] : dots) {
    svg.circle(at, 10, "rank");
    svg.text({at.x, at.y + 4}, std::to_string(key.first), "", "middle");
  }
  svg.intoAll();
  return column * width;
}

std::string report::treesPicture(const Subject &subject, unsigned most,
                                 PictureFor use) {
  constexpr double top = 50, row = 56, gap = 30;
  unsigned chunks = subject.collective.numChunks();
  std::vector<ChunkWay> ways;
  double width = gap;
  for (unsigned i = 0; i < std::min(most, chunks); ++i) {
    ways.push_back(wayOf(
        subject, unsigned(uint64_t(i) * chunks / std::min(most, chunks))));
    double last = 1;
    for (const auto &[rank, at] : ways.back().columns)
      last = std::max(last, at + 1);
    width += 30 * last + gap;
  }
  double steps = double(subject.schedule.steps.size());
  Svg svg(width, top + row * steps + 40, subject.name + ", trees of chunks",
          use);
  double left = gap;
  for (const ChunkWay &way : ways)
    left += drawWay(svg, way, subject, left, top + 10, row) + gap;
  return svg.str();
}
