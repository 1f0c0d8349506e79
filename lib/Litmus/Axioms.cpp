//===- Axioms.cpp - Is an outcome possible on GPUs? -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Litmus/Axioms.h"

#include "Events.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace sccl;
using namespace sccl::litmus;

namespace {
/// Which orders of fences and stores a choice of what loads read from allows.
/// "coherence" is an order of the stores to each location: of those only that
/// are morally strong, or of which one causes the other.
class Orders {
public:
  Orders(const Events &events, const Relation &readsFrom, uint64_t &left)
      : events(events), size(events.list.size()), readsFrom(readsFrom),
        observation(readsFrom & events.morallyStrong), left(left) {
    for (auto [i, event] : llvm::enumerate(events.list))
      if (event.isFence() && event.op.order == Order::Sequential)
        fences.push_back(i);
  }

  /// True if the axioms hold for one of them.
  bool exist() {
    std::vector<unsigned> order = fences;
    do {
      if (left == 0)
        return false;
      --left;
      if (existWith(order))
        return true;
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

private:
  bool existWith(const std::vector<unsigned> &order) {
    Relation fenceOrder(size);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        if (events.morallyStrong.has(order[i], order[j]))
          fenceOrder.add(order[i], order[j]);
    Relation synchronizes =
        events.releasePattern.then(observation).then(events.acquirePattern) &
        events.morallyStrong;
    Relation base = (events.programOrder | events.initial | events.barrier |
                     synchronizes | fenceOrder)
                        .closure();
    base = preserved(base);
    Relation cause = base | observation.then(base);
    if (!fenceOrder.then(cause).isIrreflexive())
      return false; // fence-SC
    Relation coherence(size);
    for (unsigned i = 0; i < size; ++i)
      for (unsigned j = 0; j < size; ++j)
        if (areStoresToOnePlace(i, j) && cause.has(i, j))
          coherence.add(i, j);
    return orderStores(coherence, cause, 0);
  }

  /// Of base causality what holds between proxies: on the way from one address
  /// of memory to another one is a fence of aliases.
  Relation preserved(const Relation &base) const {
    Relation toFence(size);
    for (unsigned i = 0; i < size; ++i)
      for (unsigned j = 0; j < size; ++j)
        if (events.list[j].op.kind == Kind::AliasFence && base.has(i, j))
          toFence.add(i, j);
    return base.without(events.aliases.without(toFence.then(base)));
  }

  bool areStoresToOnePlace(unsigned i, unsigned j) const {
    return events.sameLocation.has(i, j) && events.list[i].isStore() &&
           events.list[j].isStore();
  }

  /// Tries both orders of each two morally strong stores from pair `from` on.
  bool orderStores(Relation coherence, const Relation &cause, unsigned from) {
    coherence = coherence.closure();
    if (!coherence.isIrreflexive())
      return false; // coherence
    for (; from < size * size; ++from) {
      unsigned i = from / size, j = from % size;
      if (i > j || !areStoresToOnePlace(i, j) ||
          !events.morallyStrong.has(i, j) || coherence.has(i, j) ||
          coherence.has(j, i))
        continue;
      if (left == 0)
        return false;
      --left;
      Relation other = coherence;
      coherence.add(i, j);
      other.add(j, i);
      return orderStores(coherence, cause, from + 1) ||
             orderStores(other, cause, from + 1);
    }
    return hold(coherence, cause);
  }

  /// The axioms that speak of all that communicates.
  bool hold(const Relation &coherence, const Relation &cause) const {
    Relation fromReads = readsFrom.inverse().then(coherence);
    Relation strong =
        (readsFrom | coherence | fromReads) & events.morallyStrong;
    Relation inThread =
        (events.programOrder & events.sameLocation).without(events.aliases);
    Relation perLocation = strong | inThread;
    return perLocation.isAcyclic() && // SC per location
           (readsFrom | fromReads).then(cause).isIrreflexive(); // causality
  }

  const Events &events;
  unsigned size;
  const Relation &readsFrom;
  Relation observation;
  std::vector<unsigned> fences;
  uint64_t &left;
};

/// Tries what each load may read from.
class Search {
public:
  Search(const Program &program, const Events &events, uint64_t most)
      : program(program), events(events), most(most), left(most),
        source(events.list.size()) {
    for (auto [i, event] : llvm::enumerate(events.list))
      if (event.isLoad())
        loads.push_back(i);
  }

  Answer run() {
    bool found = assign(0);
    Answer answer;
    answer.candidates = most - left;
    answer.verdict = found       ? Verdict::Sometimes
                     : left == 0 ? Verdict::Unknown
                     : runs      ? Verdict::Never
                                 : Verdict::Stuck;
    if (found)
      answer.execution = describe();
    return answer;
  }

private:
  /// True if an execution with an outcome has been found.
  bool assign(unsigned next) {
    if (left == 0)
      return false;
    --left;
    if (next == loads.size())
      return tryExecution();
    unsigned load = loads[next];
    for (auto [i, event] : llvm::enumerate(events.list)) {
      bool fits =
          event.isStore() && events.sameLocation.has(i, load) &&
          (!events.programOrder.has(load, i) || events.aliases.has(load, i));
      if (!fits)
        continue;
      source[load] = i;
      if (meets(events.requirements) && assign(next + 1))
        return true;
    }
    source[load].reset();
    return false;
  }

  /// The value of a load, if all that it comes from is known.
  std::optional<int64_t> valueOf(unsigned load) const {
    for (size_t hops = 0; hops < events.list.size(); ++hops) {
      if (!source[load])
        return std::nullopt;
      const Event &store = events.list[*source[load]];
      if (!store.source)
        return store.op.value;
      load = *store.source;
    }
    return std::nullopt; // out of thin air
  }

  /// True unless one of them is known not to hold.
  bool meets(const std::vector<Requirement> &requirements) const {
    return llvm::all_of(requirements, [&](const Requirement &each) {
      std::optional<int64_t> value = valueOf(each.load);
      return !value || compare(*value, each.comparison, each.value);
    });
  }

  bool tryExecution() {
    bool hasOutcome = llvm::any_of(
        events.outcomes, [&](const std::vector<Requirement> &outcome) {
          return meets(outcome);
        });
    if (runs && !hasOutcome)
      return false;
    Relation readsFrom(events.list.size());
    for (unsigned load : loads)
      readsFrom.add(*source[load], load);
    bool isConsistent = (readsFrom | events.dependency).isAcyclic() &&
                        Orders(events, readsFrom, left).exist();
    runs |= isConsistent;
    return isConsistent && hasOutcome;
  }

  std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (unsigned load : loads) {
      const Event &event = events.list[load];
      const Event &store = events.list[*source[load]];
      const Thread &thread = program.threads[*event.thread];
      std::string line = thread.name + ":" + thread.registers[event.op.reg] +
                         " = " + std::to_string(*valueOf(load)) + " of [" +
                         program.locations[event.op.location].name + "], ";
      line += store.thread ? "stored by " + program.threads[*store.thread].name
                           : "the initial value";
      lines.push_back(std::move(line));
    }
    return lines;
  }

  const Program &program;
  const Events &events;
  uint64_t most, left;
  std::vector<unsigned> loads;
  std::vector<std::optional<unsigned>> source; ///< the store of each load
  bool runs = false; ///< an execution meets all requirements
};
} // namespace

Result<Answer> litmus::check(const Program &program, uint64_t most) {
  Result<Events> events = Events::of(program);
  if (!events)
    return Error{events.error()};
  return Search(program, *events, most).run();
}
