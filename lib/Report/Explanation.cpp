//===- Explanation.cpp - Why a schedule is as fast as it is ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Report/Explanation.h"

#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/RanksByChunk.h"
#include "sccl/Model/SwitchGraph.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace sccl;
using namespace sccl::report;

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

/// What `subject` pays for: R/C, or the load of a pipelined schedule if that is
/// what `certificate` is about.
static Rational paidFor(const Subject &subject,
                        const Certificate &certificate) {
  return certificate.pipelined && subject.schedule.isPipelined()
             ? pipelinedCostOf(subject.schedule, subject.collective).load
             : subject.cost().bandwidth;
}

static const std::vector<LimitPrices> &pricesOf(const Certificate &claim) {
  static const std::vector<LimitPrices> none;
  if (auto *proof = std::get_if<PriceProof>(&claim.proof))
    return proof->prices;
  if (auto *proof = std::get_if<CutProof>(&claim.proof))
    return proof->prices;
  return none;
}

namespace {
using LinkPairs = std::vector<std::pair<unsigned, unsigned>>;
} // namespace

/// The tightest limit on each set of links, as certificates name them.
static std::map<LinkPairs, unsigned> limitsByLinks(const Topology &topology) {
  std::map<LinkPairs, unsigned> numbers;
  const std::vector<BandwidthLimit> &limits = topology.limits();
  for (unsigned number = 0; number < limits.size(); ++number) {
    LinkPairs links;
    for (unsigned link : limits[number].links)
      links.emplace_back(topology.links()[link].src,
                         topology.links()[link].dst);
    std::ranges::sort(links);
    auto [it, isNew] = numbers.try_emplace(std::move(links), number);
    if (!isNew && limits[number].bandwidth < limits[it->second].bandwidth)
      it->second = number;
  }
  return numbers;
}

namespace {
/// Limits with prices, and D of Certificate.h.
struct Prices {
  struct Row {
    unsigned limit;
    double highest; ///< bandwidth times the highest price
  };
  std::vector<Row> rows;
  double scale = 0;
};
} // namespace

/// The numbers of limits by the links that a certificate names them by; its
/// graph has them in the same order.
static std::map<LinkPairs, unsigned> limitsOfClaim(const Subject &subject,
                                                   const Certificate &claim) {
  if (claim.vertices == 0)
    return limitsByLinks(subject.topology);
  Result<SwitchGraph> graph =
      switchGraphOf(subject.topology, subject.collective.combining());
  return graph ? limitsByLinks(graph->graph) : std::map<LinkPairs, unsigned>();
}

static Prices weighPrices(const Subject &subject, const Certificate &claim) {
  const Topology &topology = subject.topology;
  std::map<LinkPairs, unsigned> numbers = limitsOfClaim(subject, claim);
  Prices result;
  std::vector<double> perStep;
  double sum = 0;
  for (const LimitPrices &price : pricesOf(claim)) {
    LinkPairs links;
    for (const Link &link : price.links)
      links.emplace_back(link.src, link.dst);
    auto it = numbers.find(links);
    if (it == numbers.end() || price.values.empty())
      continue;
    double bandwidth = topology.limits()[it->second].bandwidth;
    double highest =
        bandwidth * double(*std::ranges::max_element(price.values));
    perStep.resize(std::max(perStep.size(), price.values.size()));
    for (size_t step = 0; step < price.values.size(); ++step)
      perStep[step] += bandwidth * double(price.values[step]);
    sum += highest;
    if (highest > 0)
      result.rows.push_back({it->second, highest});
  }
  if (!perStep.empty())
    result.scale = claim.pipelined || claim.vertices != 0
                       ? sum
                       : *std::ranges::max_element(perStep);
  return result;
}

static std::vector<PricedLimit> sharesOf(const Prices &prices) {
  std::vector<PricedLimit> shares;
  for (const Prices::Row &row : prices.rows)
    shares.push_back({row.limit, row.highest / prices.scale});
  std::ranges::stable_sort(shares, std::ranges::greater(), &PricedLimit::share);
  return shares;
}

/// True if `certificate` says something of schedules like that of `subject`.
static bool isAbout(const Certificate &certificate, const Subject &subject) {
  size_t steps = subject.schedule.steps.size();
  return certificate.bound && certificate.steps.value_or(steps) == steps &&
         (!certificate.pipelined || subject.schedule.isPipelined()) &&
         !checkOrder(subject.collective, subject.schedule, certificate.order);
}

/// What holds for any number of steps holds for those of the schedule, too.
static void useBoundOfAnySteps(LowerBound bound, Explanation &result) {
  result.anySteps = bound.value;
  std::optional<Certificate> &known = result.certificate;
  bool isBetter =
      bound.value &&
      (!known || (!known->pipelined && *known->bound < *bound.value));
  if (!isBetter)
    return;
  known = std::move(bound.certificate);
  result.isFromFile = false;
}

Result<Explanation> report::explain(const Subject &subject,
                                    const SearchLimits &limits) {
  Explanation result;
  result.loads = loadsOf(subject);
  for (const LimitLoad &load : result.loads)
    result.numFullest += load.rounds == result.loads.front().rounds;
  if (subject.certificate) {
    if (std::optional<std::string> reason = checkCertificate(
            *subject.certificate, subject.topology, subject.collective))
      return Error{subject.name +
                   ": the certificate does not hold: " + *reason};
    if (isAbout(*subject.certificate, subject)) {
      result.certificate = subject.certificate;
      result.isFromFile = true;
    }
  }
  LowerBoundOptions options;
  static_cast<SearchLimits &>(options) = limits;
  options.target = subject.cost().bandwidth;
  if (!result.certificate)
    if (Result<LowerBound> bound =
            availableBound(subject.topology, subject.collective,
                           unsigned(subject.schedule.steps.size()), options);
        bound && bound->value)
      result.certificate = std::move(bound->certificate);
  if (result.certificate && !result.certificate->steps)
    result.anySteps = result.certificate->bound;
  else if (Result<LowerBound> bound =
               throughputBound(subject.topology, subject.collective, options))
    useBoundOfAnySteps(std::move(*bound), result);
  if (!result.certificate)
    return result;
  result.priced = sharesOf(weighPrices(subject, *result.certificate));
  result.isOptimal =
      paidFor(subject, *result.certificate) == *result.certificate->bound;
  return result;
}

//===----------------------------------------------------------------------===//
// What limits it, and what would help
//===----------------------------------------------------------------------===//

static std::string fixed(double value, int digits) {
  char text[400]; // the longest number has 309 digits before the point
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

static std::string percent(double part) {
  double value = 100 * part;
  return fixed(value, value > 0 && value < 9.95 ? 1 : 0) + " %";
}

std::string report::timeText(double microseconds) {
  if (microseconds >= 1e6)
    return fixed(microseconds * 1e-6, 2) + " s";
  if (microseconds >= 1e4)
    return fixed(microseconds * 1e-3, 2) + " ms";
  return fixed(microseconds, microseconds < 10 ? 2 : 1) + " us";
}

std::string report::sizeText(double bytes) {
  static constexpr const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  std::string text = fixed(bytes, bytes < 10 && unit > 0 ? 1 : 0);
  if (text.ends_with(".0"))
    text.resize(text.size() - 2);
  return text + " " + units[unit];
}

/// "12 % WHAT", or of much "3.4 times AS".
static std::string excessText(double ratio, const char *more,
                              const char *times) {
  return ratio < 2 ? percent(ratio - 1) + more
                   : fixed(ratio, ratio < 10 ? 1 : 0) + " times " + times;
}

/// "1 limit is", "3 limits are".
static std::string counted(size_t count, const char *one, const char *many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// The first few of `limits`, by their names.
template <typename Limits>
static std::string listLimits(const Topology &topology, const Limits &limits,
                              size_t count) {
  constexpr size_t shown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(count, shown); ++i)
    text += (i == 0 ? "" : ", ") +
            nameOf(topology, topology.limits()[limits[i].limit]);
  return count > shown ? text + ", ..." : text;
}

std::vector<std::string> report::limitSentences(const Subject &subject,
                                                const Explanation &explanation,
                                                const CostModel &model,
                                                double bytes) {
  std::vector<std::string> sentences;
  const Schedule &schedule = subject.schedule;
  Cost cost = subject.cost();
  if (!explanation.loads.empty()) {
    const LimitLoad &fullest = explanation.loads.front();
    unsigned rounds = schedule.rounds();
    bool isAlways = fullest.rounds == Rational(rounds);
    sentences.push_back(
        counted(explanation.numFullest, "limit of ", "limits of ") +
        std::to_string(explanation.loads.size()) +
        (explanation.numFullest == 1 ? " is" : " are") + " the fullest: " +
        (isAlways ? "busy in all " + std::to_string(rounds) + " rounds"
                  : "busy for " + fullest.rounds.str() + " of the " +
                        std::to_string(rounds) + " rounds (" +
                        percent(fullest.rounds.toDouble() / rounds) + ")") +
        ", with links " +
        listLimits(subject.topology, explanation.loads,
                   explanation.numFullest));
  }
  double latency = cost.steps * model.alphaMicroseconds;
  double total = model.microseconds(cost, bytes);
  double moving = total - latency;
  std::string text = "at " + sizeText(bytes) + " per send buffer, " +
                     counted(cost.steps, "step takes ", "steps take ") +
                     timeText(latency) + " (" + percent(latency / total) +
                     ") and the bytes " + timeText(moving) + " (" +
                     percent(moving / total) + "): ";
  text += latency > moving ? "latency limits it" : "bandwidth limits it";
  double perByte = cost.bandwidth.toDouble() * model.betaMicrosecondsPerByte;
  if (perByte > 0)
    text += "; both are equal at " + sizeText(latency / perByte);
  sentences.push_back(std::move(text));
  return sentences;
}

/// The steps that information needs at least: the farthest that some rank is
/// from what it needs.
static unsigned leastSteps(const Subject &subject) {
  std::map<std::vector<unsigned>, std::vector<unsigned>> known;
  unsigned most = 0;
  forEachRoute(subject.collective, [&](const std::vector<unsigned> &origins,
                                       const std::vector<unsigned> &to) {
    auto [it, isNew] = known.try_emplace(origins);
    if (isNew)
      it->second = subject.topology.distancesFrom(origins);
    for (unsigned rank : to)
      most = std::max(most, it->second[rank]);
  });
  return most;
}

/// What fewer or more steps could bring.
static void addStepSentences(const Subject &subject,
                             const Explanation &explanation,
                             const CostModel &model, double bytes,
                             std::vector<std::string> &sentences) {
  Cost cost = subject.cost();
  if (unsigned least = leastSteps(subject); least < cost.steps)
    sentences.push_back(
        "fewer steps, " + std::to_string(least) +
        " at the least for the distances between ranks, would save up to " +
        timeText((cost.steps - least) * model.alphaMicroseconds));
  else
    sentences.push_back("fewer steps do not reach all ranks");
  if (!explanation.anySteps)
    return;
  if (*explanation.anySteps >= cost.bandwidth) {
    sentences.push_back("more steps do not help: R/C is at least " +
                        explanation.anySteps->str() +
                        " with any number of them");
    return;
  }
  double now = model.microseconds(cost, bytes);
  double then = model.microseconds({cost.steps, *explanation.anySteps}, bytes);
  sentences.push_back(
      "more steps could bring R/C from " + cost.bandwidth.str() + " down to " +
      explanation.anySteps->str() + " at best, which would save less than " +
      percent(1 - then / now) + " at " + sizeText(bytes));
}

std::vector<std::string> report::remedySentences(const Subject &subject,
                                                 const Explanation &explanation,
                                                 const CostModel &model,
                                                 double bytes) {
  std::vector<std::string> sentences;
  std::string steps = counted(subject.schedule.steps.size(), "step", "steps");
  if (explanation.certificate) {
    const Certificate &claim = *explanation.certificate;
    Rational paid = paidFor(subject, claim);
    std::string what = claim.pipelined ? "load" : "R/C";
    sentences.push_back(
        explanation.isOptimal
            ? "no schedule with " + steps + " has a smaller " + what
            : "another schedule with " + steps + " might have " + what +
                  " between " + claim.bound->str() + " and " + paid.str() +
                  ", up to " +
                  percent(1 - claim.bound->toDouble() / paid.toDouble()) +
                  " less");
  }
  addStepSentences(subject, explanation, model, bytes, sentences);
  if (!explanation.priced.empty())
    sentences.push_back(
        "wider links help only among " +
        counted(explanation.priced.size(), "limit", "limits") + " of " +
        std::to_string(subject.topology.limits().size()) +
        " that the bound rests on: " +
        listLimits(subject.topology, explanation.priced,
                   explanation.priced.size()) +
        "; all others may be as wide as they like, and the bound stays");
  return sentences;
}

//===----------------------------------------------------------------------===//
// The certificate
//===----------------------------------------------------------------------===//

static std::string whyText(const Subject &subject, const Certificate &claim) {
  Prices prices = weighPrices(subject, claim);
  std::string priced = counted(prices.rows.size(), "limit", "limits") + " of " +
                       std::to_string(subject.topology.limits().size());
  std::string what = claim.pipelined ? "the load" : "R/C";
  Rational scale{int64_t(prices.scale)};
  if (auto *cut = std::get_if<CutProof>(&claim.proof))
    return "what the other ranks need of " +
           (claim.vertices == 0
                ? counted(cut->side.size(), "rank", "ranks")
                : counted(cut->side.size(), "rank", "ranks and vertices")) +
           " has to pass " + priced +
           ", and there are too few for more: one round lets at most " +
           scale.str() + " pass";
  if (auto *far = std::get_if<DistanceProof>(&claim.proof))
    return "rank " + std::to_string(far->dst) + " needs what rank " +
           std::to_string(far->src) + " has, and is too far away";
  double least = claim.bound->toDouble() * prices.scale;
  return "there are prices on " + priced +
         " with which all that passes in one round costs at most " +
         scale.str() + ", and what the collective has to move costs at least " +
         fixed(least, least == double(int64_t(least)) ? 0 : 2) +
         " for each chunk of a send buffer, so that " + what + " is at least " +
         claim.bound->str();
}

std::vector<std::string>
report::certificateSentences(const Subject &subject,
                             const Explanation &explanation) {
  if (!explanation.certificate)
    return {};
  const Certificate &claim = *explanation.certificate;
  Rational paid = paidFor(subject, claim);
  std::string steps = counted(subject.schedule.steps.size(), "step", "steps");
  std::string what = claim.pipelined ? "load" : "R/C";
  std::string excess =
      *claim.bound == Rational(0)
          ? "and the bound is 0"
          : excessText(paid.toDouble() / claim.bound->toDouble(),
                       " above the bound", "the bound");
  // A bound for any number of steps says little of a schedule that has few.
  if (!claim.steps && !explanation.isOptimal)
    excess += ", which no number of steps can beat";
  if (!explanation.isOptimal &&
      leastSteps(subject) == subject.schedule.steps.size())
    excess += "; no schedule has fewer steps";
  return {"the claim: " + claimText(claim, subject.collective.name()),
          "the proof: " + whyText(subject, claim),
          "the schedule: " + what + " is " + paid.str() + ", " +
              (explanation.isOptimal
                   ? "which is the bound, so it is optimal for " + steps
                   : excess) +
              "; the proof was checked in exact integers, without a solver, " +
              (explanation.isFromFile ? "and is in the file"
                                      : "and was found just now")};
}

//===----------------------------------------------------------------------===//
// Choices by size
//===----------------------------------------------------------------------===//

ChoiceReason report::chooseFor(const std::vector<Cost> &costs,
                               const CostModel &model, double bytes) {
  auto time = [&](size_t i) { return model.microseconds(costs[i], bytes); };
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::ranges::less(), time);
  ChoiceReason reason{order.front(), time(order.front()), std::nullopt};
  if (order.size() > 1) {
    reason.second = order[1];
    reason.secondMicroseconds = time(order[1]);
  }
  for (const SizeRange &range : selectBySize(costs, model)) {
    if (range.best == reason.best)
      reason.from = double(range.firstByte);
    else if (double(range.firstByte) > bytes && !reason.upTo)
      reason.upTo = double(range.firstByte);
  }
  return reason;
}

std::string report::choiceSentence(const ChoiceReason &reason,
                                   const std::vector<std::string> &names) {
  std::string text = names[reason.best] + " takes " +
                     timeText(reason.microseconds) + " in the model";
  if (!reason.second)
    return text + ", and there is no other";
  text += ", the next best, " + names[*reason.second] + ", " +
          timeText(reason.secondMicroseconds) + " (" +
          excessText(reason.secondMicroseconds / reason.microseconds, " more",
                     "as long") +
          "); it is the best ";
  if (!reason.upTo)
    return text + (reason.from > 0 ? "from " + sizeText(reason.from) + " on"
                                   : "for all sizes");
  return text + (reason.from > 0 ? "from " + sizeText(reason.from) + " " : "") +
         "up to " + sizeText(*reason.upTo);
}
