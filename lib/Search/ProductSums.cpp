//===- ProductSums.cpp - Sums by one factor after another -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductSums.h"

#include "ProductWays.h"
#include "Search/Constants.h"
#include "Solver/Quotient.h"

#include "sccl/Model/Composition.h"
#include "sccl/Model/DisjointSets.h"
#include "sccl/Model/Refinement.h"
#include "sccl/Model/Scaling.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <cmath>

using namespace sccl;

// In a product, two links of a rank that belong to different factors are sides
// of just one square, and the opposite sides of a square belong to one factor.
// So the links of rank 0 say how many factors there may be, and squares carry
// that to all other links. Whether it is a product then remains to be checked.

namespace {
class Factorization {
public:
  explicit Factorization(const Topology &topology)
      : topology(topology), colors(topology.links().size(), none) {}

  std::optional<Product> run();

private:
  static constexpr unsigned none = ~0u;

  unsigned target(unsigned link) const { return topology.links()[link].dst; }
  bool leadsBothWays() const;
  bool isInOneFactor(unsigned first, unsigned second) const;
  void colorFirst();
  bool colorAll();
  bool colorLinksOf(unsigned rank, unsigned from);
  bool findPlaces();
  bool isProduct() const;
  void addFactor(unsigned color);

  const Topology &topology;
  std::vector<unsigned> colors; ///< of links: the number of the factor
  unsigned numColors = 0;
  Product product;
};
} // namespace

/// Of each number below `size` that of its set; they are numbered as they come.
static std::vector<unsigned> numbersOf(DisjointSets &sets, size_t size) {
  std::vector<uint64_t> firsts;
  for (unsigned at = 0; at < size; ++at)
    firsts.push_back(sets.first(at));
  return Classes(firsts).classOf;
}

bool Factorization::leadsBothWays() const {
  return std::ranges::all_of(topology.links(), [&](const Link &link) {
    return topology.findLink(link.dst, link.src).has_value();
  });
}

/// True if the links from rank 0 to `first` and `second` are not two sides of
/// just one square, which no link cuts.
bool Factorization::isInOneFactor(unsigned first, unsigned second) const {
  if (topology.findLink(first, second))
    return true;
  unsigned squares = 0;
  for (unsigned link : topology.outLinks(first))
    if (unsigned corner = target(link);
        corner != 0 && topology.findLink(corner, second)) {
      if (topology.findLink(0, corner) || ++squares > 1)
        return true;
    }
  return squares != 1;
}

void Factorization::colorFirst() {
  const std::vector<unsigned> &links = topology.outLinks(0);
  DisjointSets sets(links.size());
  for (unsigned i = 0; i < links.size(); ++i)
    for (unsigned j = 0; j < i; ++j)
      if (sets.first(i) != sets.first(j) &&
          isInOneFactor(target(links[i]), target(links[j])))
        sets.join(i, j);
  std::vector<unsigned> numbers = numbersOf(sets, links.size());
  for (unsigned i = 0; i < links.size(); ++i)
    colors[links[i]] = numbers[i];
  numColors = numbers.empty() ? 0 : std::ranges::max(numbers) + 1;
}

/// The colors of all links of `rank`, which has one from `from`. A link is
/// opposite one of `from` if a square says so, and otherwise in the factor of
/// the link from there.
bool Factorization::colorLinksOf(unsigned rank, unsigned from) {
  unsigned between = colors[*topology.findLink(from, rank)];
  for (unsigned link : topology.outLinks(rank)) {
    unsigned color = between;
    for (unsigned side : topology.outLinks(from))
      if (target(side) != rank && target(link) != from &&
          colors[side] != between &&
          topology.findLink(target(side), target(link)))
        color = colors[side];
    if (colors[link] != none && colors[link] != color)
      return false;
    colors[link] = color;
  }
  return true;
}

bool Factorization::colorAll() {
  std::vector<bool> isKnown(topology.numRanks());
  std::vector<unsigned> queue = {0};
  isKnown[0] = true;
  for (size_t next = 0; next < queue.size(); ++next)
    for (unsigned link : topology.outLinks(queue[next]))
      if (unsigned to = target(link); !isKnown[to]) {
        isKnown[to] = true;
        if (!colorLinksOf(to, queue[next]))
          return false;
        queue.push_back(to);
      }
  return queue.size() == topology.numRanks();
}

/// Ranks that links of other factors join are at the same place in a factor.
bool Factorization::findPlaces() {
  uint64_t size = 1;
  for (unsigned color = 0; color < numColors; ++color) {
    DisjointSets sets(topology.numRanks());
    for (unsigned link = 0; link < colors.size(); ++link)
      if (colors[link] != color)
        sets.join(topology.links()[link].src, target(link));
    product.places.push_back(numbersOf(sets, topology.numRanks()));
    product.strides.push_back(unsigned(size));
    size *= std::ranges::max(product.places.back()) + 1;
    if (size > topology.numRanks())
      return false;
  }
  if (size != topology.numRanks())
    return false;
  product.ranks.assign(size, none);
  for (unsigned rank = 0; rank < size; ++rank) {
    unsigned index = 0;
    for (unsigned color = 0; color < numColors; ++color)
      index += product.strides[color] * product.places[color][rank];
    if (product.ranks[index] != none)
      return false;
    product.ranks[index] = rank;
  }
  return true;
}

/// The links of `color` among the ranks that differ from rank 0 in it only.
void Factorization::addFactor(unsigned color) {
  const std::vector<unsigned> &places = product.places[color];
  Topology factor("factor", std::ranges::max(places) + 1);
  std::vector<unsigned> numbers(colors.size(), none);
  for (unsigned link = 0; link < colors.size(); ++link) {
    auto [src, dst] = topology.links()[link];
    if (colors[link] == color && product.moved(src, color, 0) == 0)
      numbers[link] = *factor.addLink(places[src], places[dst]);
  }
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<unsigned> links;
    for (unsigned link : limit.links)
      if (numbers[link] != none)
        links.push_back(numbers[link]);
    if (!links.empty())
      (void)factor.addLimit(std::move(links), limit.bandwidth);
  }
  product.factors.push_back(std::move(factor));
}

/// True if each link changes one place only, as one among the ranks of rank 0
/// does, and no such is missing.
bool Factorization::isProduct() const {
  size_t expected = 0;
  for (const Topology &factor : product.factors)
    expected +=
        factor.links().size() * (topology.numRanks() / factor.numRanks());
  if (expected != topology.links().size())
    return false;
  for (unsigned link = 0; link < colors.size(); ++link) {
    auto [src, dst] = topology.links()[link];
    unsigned color = colors[link], to = product.places[color][dst];
    if (product.moved(src, color, to) != dst ||
        !product.factors[color].findLink(product.places[color][src], to))
      return false;
  }
  return true;
}

std::optional<Product> Factorization::run() {
  if (topology.numRanks() < 4 || !leadsBothWays())
    return std::nullopt;
  colorFirst();
  if (numColors < 2 || !colorAll() || !findPlaces())
    return std::nullopt;
  for (unsigned color = 0; color < numColors; ++color)
    addFactor(color);
  if (!isProduct())
    return std::nullopt;
  return std::move(product);
}

std::optional<Product> sccl::factorize(const Topology &topology) {
  return Factorization(topology).run();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// `schedule` of `chunks` chunks on `factor`.
static FactorPart makePart(const Topology &factor, unsigned chunks,
                           Schedule schedule) {
  FactorPart part{chunks, std::move(schedule), {}};
  for (size_t step = 0; step < part.schedule.steps.size(); ++step) {
    std::vector<Send> &sends = part.schedule.steps[step].sends;
    part.rounds.push_back(
        exactPeriod(Schedule{{part.schedule.steps[step]}}, factor) / chunks);
    for (Send &send : sends)
      if (send.payload == SendPayload::Input) {
        part.needsInputs |= step > 0;
        // What the first step reads is the input.
        if (step == 0)
          send.payload = SendPayload::Current;
      }
  }
  return part;
}

static bool isComplete(const Topology &topology) {
  size_t ranks = topology.numRanks();
  return topology.links().size() == ranks * (ranks - 1);
}

/// A step over all links.
static FactorPart partOverAll(const Topology &factor, unsigned chunks,
                              SendAction action, bool isOfTarget) {
  Step step;
  for (const Link &link : factor.links())
    step.sends.push_back({chunks == 1  ? 0
                          : isOfTarget ? link.dst
                                       : link.src,
                          link.src, link.dst, action});
  return makePart(factor, chunks, Schedule{{std::move(step)}});
}

static FactorParts partsOfComplete(const Topology &factor) {
  unsigned ranks = factor.numRanks();
  FactorParts parts;
  parts.sums.push_back(partOverAll(factor, 1, SendAction::Reduce, false));
  parts.scattered.push_back(
      {partOverAll(factor, ranks, SendAction::Reduce, /*isOfTarget=*/true),
       partOverAll(factor, ranks, SendAction::Copy, /*isOfTarget=*/false)});
  return parts;
}

/// A gather, turned round before itself, and both as one sum.
static void addGather(const Topology &factor, const FrontierPoint &point,
                      FactorParts &parts) {
  unsigned ranks = factor.numRanks();
  Result<Implementation> gather =
      point.implement({CollectiveKind::AllGather}, ranks);
  if (!gather)
    return;
  Result<Implementation> scatter = invert(*gather);
  Result<Implementation> both = composeAllReduce(*gather, *gather);
  if (!scatter || !both)
    return;
  unsigned chunks = point.chunks * ranks;
  parts.sums.push_back(
      makePart(factor, both->collective.chunks(), std::move(both->schedule)));
  parts.scattered.push_back(
      {makePart(factor, chunks, std::move(scatter->schedule)),
       makePart(factor, chunks, std::move(gather->schedule))});
}

/// Of few ranks, so that a short search does.
std::optional<FactorParts>
ProductSums::searchedParts(const Topology &factor) const {
  if (factor.numRanks() > tuned::mostFactorRanks() || !isOwnReverse(factor))
    return std::nullopt;
  FrontierOptions options;
  options.maxSteps = problem.options.maxSteps;
  options.probeWork = options.stepWork = tuned::firstCandidateWork();
  options.hasty = true;
  options.timeoutSeconds = problem.deadline.remainingLimit();
  options.solver = problem.options.solver;
  FactorParts parts;
  if (factor.numRanks() <= tuned::fewRanks())
    if (auto sums =
            searchFrontier(factor, {CollectiveKind::AllReduce}, options))
      for (const FrontierPoint &point : sums->points)
        parts.sums.push_back(
            makePart(factor, point.chunks, point.schedule.get()));
  auto gathers = searchFrontier(factor, {CollectiveKind::AllGather}, options);
  if (!gathers || gathers->points.empty())
    return std::nullopt;
  for (const FrontierPoint &point : gathers->points)
    addGather(factor, point, parts);
  std::ranges::stable_sort(parts.sums, {}, &FactorPart::steps);
  return parts;
}

std::optional<FactorParts> ProductSums::partsOf(const Topology &factor) const {
  if (isComplete(factor))
    return partsOfComplete(factor);
  return searchedParts(factor);
}

void ProductSums::findParts() {
  hasParts = true;
  product = factorize(problem.reduced);
  if (!product)
    return;
  for (const Topology &factor : product->factors) {
    std::optional<FactorParts> found = partsOf(factor);
    if (!found || problem.deadline.isOver()) {
      product.reset();
      return;
    }
    parts.push_back(std::move(*found));
  }
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Into how many pieces to cut chunks, at most `most`, so that little is lost
/// where rounds are rounded up.
static unsigned piecesFor(const Schedule &schedule, const Topology &topology,
                          uint64_t most) {
  constexpr double tolerance = 1e-6;
  std::vector<double> exact;
  for (const Step &step : schedule.steps)
    exact.push_back(exactPeriod(Schedule{{step}}, topology));
  unsigned best = 1;
  double least = INFINITY;
  for (unsigned pieces = 1; pieces <= most; ++pieces) {
    double rounds = 0;
    for (double some : exact)
      rounds += std::ceil(some * pieces - tolerance);
    if (rounds / pieces < least * (1 - tolerance)) {
      least = rounds / pieces;
      best = pieces;
    }
  }
  return best;
}

/// `schedule`, with the rounds that it needs; nothing if it is no all_reduce of
/// `chunks` chunks.
static std::optional<FrontierPoint>
pointOf(const Topology &topology, unsigned chunks, Schedule schedule) {
  Result<Collective> collective =
      Collective::make(CollectiveKind::AllReduce, topology.numRanks(), chunks);
  if (!collective)
    return std::nullopt;
  fitRounds(schedule, topology);
  schedule.normalize();
  return checkedPoint(topology, {std::move(*collective), std::move(schedule)},
                      "compose", /*seconds=*/0);
}

std::optional<FrontierPoint> ProductSums::at(unsigned steps) {
  if (!problem.family.isPlain() ||
      problem.family.kind != CollectiveKind::AllReduce ||
      !isAsked(Maker::products))
    return std::nullopt;
  auto [at, isNew] = found.try_emplace(steps);
  if (isNew)
    at->second = find(steps);
  return at->second;
}

std::optional<FrontierPoint> ProductSums::find(unsigned steps) {
  if (!hasParts)
    findParts();
  if (!product)
    return std::nullopt;
  // More takes seconds to write out.
  const uint64_t mostSends = problem.options.maxSends / 4;
  unsigned mostChunks = FrontierOptions::maxMaxChunks / problem.scale;
  std::optional<MixOfWays> mix =
      cheapestMix(*product, parts, {steps, mostChunks, mostSends});
  if (!mix)
    return std::nullopt;
  unsigned chunks = mix->chunks();
  Schedule schedule = writeOut(*mix, *product);
  uint64_t most = std::min<uint64_t>(problem.mostChunks() / chunks,
                                     mostSends / schedule.numSends());
  unsigned pieces = piecesFor(schedule, problem.reduced, most) * problem.scale;
  return pointOf(problem.topology, chunks * pieces,
                 cutChunks(schedule, pieces, /*roundsFactor=*/1));
}
