//===- SlowProgram.cpp - A program checked in the plainest way ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlowProgram.h"
#include "SlowTree.h"

#include "sccl/Analysis/Program.h"

#include "llvm/ADT/BitVector.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;
using namespace sccl::test;

namespace {
/// A slot of a rank's buffer; of scratch in one of two halves.
using Place = std::tuple<unsigned, Buffer, unsigned, unsigned>;

/// An op in one launch, or what a rank's owner does between two launches: fills
/// the input and takes the output.
struct Node {
  Operation *op = nullptr; ///< null: the owner
  unsigned rank = 0, launch = 0;
  std::set<Place> reads, writes;
  std::vector<unsigned> after; ///< nodes that come before
};

/// What is in a place.
struct Content {
  unsigned launch, chunk;
  std::multiset<unsigned> contributors;
  bool isFinal = false;
  std::string tree; ///< of SlowTree.h
};

class SlowProgram {
public:
  /// Looks at chunks whose place in a segment is below `positions`: the others
  /// are empty in short messages.
  SlowProgram(coll::ProgramOp program, const Collective &collective,
              unsigned positions, bool roundsOnce = false)
      : program(program), collective(collective), positions(positions),
        roundsOnce(roundsOnce), isHalved(program.getDoubleBuffered()) {}

  std::optional<std::string> findFault() {
    for (unsigned launch = 0; launch < numLaunches; ++launch)
      addLaunch(launch);
    addFlags();
    if (program.getLl())
      addWords();
    if (fault || !sort())
      return fault ? fault : "nodes wait for each other";
    close();
    findRaces();
    findHaste();
    execute();
    return fault;
  }

  SlowTrees trees() {
    addLaunch(0);
    addFlags();
    if (program.getLl())
      addWords();
    if (sort())
      execute();
    return std::move(ends);
  }

private:
  static constexpr unsigned numLaunches = 3;

  void note(const std::string &text) {
    if (!fault)
      fault = text;
  }
  bool isThere(unsigned chunk) const {
    return chunk % collective.chunksPerSegment() < positions;
  }
  Place placeOf(const SlotRange &range, unsigned i, unsigned launch) const {
    bool isSecond =
        isHalved && range.buffer == Buffer::Scratch && launch % 2 == 1;
    return {range.rank, range.buffer, isSecond, range[i]};
  }

  void addLaunch(unsigned launch);
  void addOp(Operation &op, unsigned rank, unsigned launch, unsigned before);
  void addOwner(unsigned rank, unsigned launch, std::vector<unsigned> after);
  void addFlags();
  void addWords();
  bool sort();
  void close();
  void findRaces();
  void findHaste();
  void execute();
  void executeOp(const Node &node);
  Content reduce(const std::vector<Content> &operands, const Transfer &transfer,
                 unsigned chunk);
  void checkOwner(const Node &node);

  coll::ProgramOp program;
  const Collective &collective;
  unsigned positions;
  bool roundsOnce;
  bool isHalved; ///< scratch is double-buffered
  std::vector<Node> nodes;
  std::vector<unsigned> owners; ///< by rank: the last node
  std::map<std::pair<unsigned, unsigned>, unsigned> begins; ///< by rank, launch
  std::vector<llvm::BitVector> earlier;
  std::vector<unsigned> order;
  std::map<Place, Content> contents;
  SlowTrees ends;
  std::optional<std::string> fault;
};
} // namespace

void SlowProgram::addOwner(unsigned rank, unsigned launch,
                           std::vector<unsigned> after) {
  Node owner{nullptr, rank, launch, {}, {}, std::move(after)};
  for (unsigned slot = 0; slot < collective.inputSlots(rank); ++slot)
    owner.writes.insert({rank, Buffer::Input, 0, slot});
  for (unsigned slot = 0; slot < collective.outputSlots(rank); ++slot)
    owner.writes.insert({rank, Buffer::Output, 0, slot});
  begins[{rank, launch}] = nodes.size();
  nodes.push_back(std::move(owner));
}

void SlowProgram::addOp(Operation &op, unsigned rank, unsigned launch,
                        unsigned before) {
  Node node{&op, rank, launch, {}, {}, {before}};
  if (std::optional<Transfer> transfer = getTransfer(&op))
    for (unsigned i = 0; i < transfer->size(); ++i) {
      if (!isThere(transfer->chunkAt(i)))
        continue;
      for (const SlotRange &range : transfer->reads)
        node.reads.insert(placeOf(range, i, launch));
      node.writes.insert(placeOf(transfer->write, i, launch));
    }
  nodes.push_back(std::move(node));
}

void SlowProgram::addLaunch(unsigned launch) {
  unsigned numRanks = collective.numRanks();
  if (launch == 0)
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      owners.push_back(nodes.size());
      addOwner(rank, 0, {});
    }
  std::vector<std::vector<unsigned>> ends(numRanks);
  // The nodes before the barrier of each number, by number.
  std::map<unsigned, std::vector<unsigned>> meetings;
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      unsigned last = owners[rank.getRank()], barriers = 0;
      for (Operation &op : channel.getBody().getOps()) {
        addOp(op, rank.getRank(), launch, last);
        last = nodes.size() - 1;
        if (isa<BarrierOp>(op))
          meetings[barriers++].push_back(last);
      }
      ends[rank.getRank()].push_back(last);
    }
  // Who comes out of a barrier comes after what was before it in any channel.
  for (const auto &[number, meeting] : meetings) {
    std::vector<unsigned> before;
    for (unsigned node : meeting)
      llvm::append_range(before, nodes[node].after);
    for (unsigned node : meeting)
      nodes[node].after = before;
  }
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    ends[rank].push_back(owners[rank]);
    owners[rank] = nodes.size();
    addOwner(rank, launch + 1, ends[rank]);
  }
}

void SlowProgram::addFlags() {
  // The signals of each flag, in the order in which its only writer gives them.
  std::map<FlagId, std::vector<std::pair<uint64_t, unsigned>>> signals;
  std::map<FlagId, unsigned> perLaunch;
  for (const Node &node : nodes)
    if (auto signal = dyn_cast_or_null<SignalOp>(node.op))
      perLaunch[getFlag(signal)] += node.launch == 0;
  auto target = [&](FlagOpInterface op, unsigned launch) {
    return uint64_t(launch) * perLaunch[getFlag(op)] + op.getValue();
  };
  for (unsigned i = 0; i < nodes.size(); ++i)
    if (auto signal = dyn_cast_or_null<SignalOp>(nodes[i].op)) {
      auto &list = signals[getFlag(signal)];
      list.push_back({target(signal, nodes[i].launch), i});
      if (list.size() > 1 && list[list.size() - 2].first > list.back().first)
        note("a flag gets smaller");
    }
  for (Node &node : nodes) {
    auto wait = dyn_cast_or_null<WaitOp>(node.op);
    if (!wait)
      continue;
    const auto &list = signals[getFlag(wait)];
    auto first = llvm::find_if(list, [&](const auto &signal) {
      return signal.first >= target(wait, node.launch);
    });
    // A later launch may not come.
    if (first == list.end() || nodes[first->second].launch > node.launch)
      return note("a wait for a signal that nobody gives");
    node.after.push_back(first->second);
  }
}

/// Who reads LL words comes after who wrote them in the same launch.
void SlowProgram::addWords() {
  std::map<std::pair<unsigned, Place>, std::vector<unsigned>> writers;
  for (unsigned i = 0; i < nodes.size(); ++i)
    for (const Place &place : nodes[i].writes)
      if (std::get<Buffer>(place) == Buffer::Scratch)
        writers[{nodes[i].launch, place}].push_back(i);
  std::set<std::pair<unsigned, Place>> read;
  for (Node &node : nodes)
    for (const Place &place : node.reads) {
      if (std::get<Buffer>(place) != Buffer::Scratch)
        continue;
      const std::vector<unsigned> &all = writers[{node.launch, place}];
      if (all.size() != 1)
        return note("LL words that nobody, or more than one, writes");
      node.after.push_back(all.front());
      read.insert({node.launch, place});
    }
  for (const auto &[key, all] : writers)
    if (!read.contains(key) || all.size() != 1)
      return note("LL words that nobody reads, or more than one writes");
}

/// Finds an order of all nodes. Returns false if there is none.
bool SlowProgram::sort() {
  std::vector<bool> isDone(nodes.size());
  for (bool hasMoved = true; hasMoved && order.size() < nodes.size();) {
    hasMoved = false;
    for (unsigned i = 0; i < nodes.size(); ++i) {
      if (isDone[i] || !llvm::all_of(nodes[i].after, [&](unsigned other) {
            return isDone[other];
          }))
        continue;
      order.push_back(i);
      isDone[i] = hasMoved = true;
    }
  }
  return order.size() == nodes.size();
}

/// Finds what comes before each node in every order.
void SlowProgram::close() {
  earlier.assign(nodes.size(), llvm::BitVector(nodes.size()));
  for (unsigned i : order)
    for (unsigned other : nodes[i].after) {
      earlier[i] |= earlier[other];
      earlier[i].set(other);
    }
}

void SlowProgram::findRaces() {
  std::map<Place, std::vector<std::pair<unsigned, bool>>> accesses;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    for (const Place &place : nodes[i].reads)
      accesses[place].push_back({i, false});
    for (const Place &place : nodes[i].writes)
      accesses[place].push_back({i, true});
  }
  for (const auto &[place, all] : accesses)
    for (size_t a = 0; a < all.size(); ++a)
      for (size_t b = a + 1; b < all.size(); ++b) {
        auto [first, firstWrites] = all[a];
        auto [second, secondWrites] = all[b];
        if (first != second && (firstWrites || secondWrites) &&
            !earlier[first].test(second) && !earlier[second].test(first))
          return note("a race");
      }
}

/// What a rank does in a peer's memory comes after that peer's launch has begun
/// and before it ends: else the memory may be used for something else. Of two
/// halves of scratch one is free when the launch before has begun.
void SlowProgram::findHaste() {
  for (unsigned i = 0; i < nodes.size(); ++i) {
    const Node &node = nodes[i];
    for (const std::set<Place> *places : {&node.reads, &node.writes})
      for (const Place &place : *places) {
        unsigned peer = std::get<0>(place);
        if (peer == node.rank)
          continue;
        bool isHalf = isHalved && std::get<Buffer>(place) == Buffer::Scratch;
        if ((!isHalf || node.launch == 2) &&
            !earlier[i].test(begins[{peer, node.launch - isHalf}]))
          return note("an access before the peer's launch has begun");
        if (!earlier[begins[{peer, node.launch + 1}]].test(i))
          return note("an access after the peer's launch has ended");
      }
  }
}

/// The owner has taken what was in the output, and fills the input.
void SlowProgram::checkOwner(const Node &node) {
  for (unsigned chunk : collective.post().chunksOf(node.rank)) {
    if (node.launch == 0 || !isThere(chunk))
      continue;
    unsigned slot = *collective.outputSlot(node.rank, chunk);
    auto found = contents.find({node.rank, Buffer::Output, 0, slot});
    if (found == contents.end())
      return note("an output that nobody has written");
    const Content &content = found->second;
    std::vector<unsigned> all = collective.pre().ranksOf(chunk);
    std::multiset<unsigned> expected(all.begin(), all.end());
    if (content.chunk != chunk || content.launch + 1 != node.launch)
      return note("another chunk in the output");
    if (collective.combining() && (content.contributors != expected ||
                                   content.isFinal != (expected.size() > 1)))
      return note("an incomplete sum in the output");
    ends[{node.rank, chunk}] = content.tree;
  }
  for (unsigned chunk : collective.pre().chunksOf(node.rank)) {
    unsigned slot = *collective.inputSlot(node.rank, chunk);
    contents[{node.rank, Buffer::Input, 0, slot}] = {
        node.launch, chunk, {node.rank}, false, std::to_string(node.rank)};
  }
}

/// What a reduction makes of its operands.
Content SlowProgram::reduce(const std::vector<Content> &operands,
                            const Transfer &transfer, unsigned chunk) {
  Content result = {operands[0].launch, chunk, {}, false, operands[0].tree};
  for (const Content &operand : operands) {
    bool isLast = &operand == &operands.back();
    if (&operand != &operands.front())
      result.tree = slowSum(result.tree, operand.tree, isLast || !roundsOnce);
    for (unsigned rank : operand.contributors) {
      if (result.contributors.contains(rank))
        note("a contribution that counts twice");
      result.contributors.insert(rank);
    }
    if (operand.isFinal)
      note("a sum that goes on after its end");
  }
  bool isComplete =
      result.contributors.size() == collective.pre().ranksOf(chunk).size();
  if (transfer.isFinal != isComplete)
    note("final and complete are not the same");
  result.isFinal = transfer.isFinal;
  return result;
}

void SlowProgram::executeOp(const Node &node) {
  std::optional<Transfer> transfer = getTransfer(node.op);
  if (!transfer)
    return;
  for (unsigned i = 0; i < transfer->size(); ++i) {
    unsigned chunk = transfer->chunkAt(i);
    if (!isThere(chunk))
      continue;
    std::vector<Content> operands;
    for (const SlotRange &range : transfer->reads) {
      auto found = contents.find(placeOf(range, i, node.launch));
      if (found == contents.end() || found->second.chunk != chunk ||
          found->second.launch != node.launch)
        return note("a read of another chunk");
      operands.push_back(found->second);
    }
    if (transfer->write.buffer == Buffer::Input)
      return note("a write into an input");
    contents[placeOf(transfer->write, i, node.launch)] =
        transfer->reduces() ? reduce(operands, *transfer, chunk) : operands[0];
  }
}

void SlowProgram::execute() {
  for (unsigned i : order) {
    if (fault)
      return;
    if (nodes[i].op)
      executeOp(nodes[i]);
    else
      checkOwner(nodes[i]);
  }
}

std::optional<std::string> test::slowFault(ProgramOp program,
                                           const Collective &collective) {
  unsigned all = collective.chunksPerSegment();
  // Only what waits for words of data waits less if there are fewer.
  for (unsigned positions = program.getLl() ? 1 : all; positions <= all;
       ++positions)
    if (auto fault = SlowProgram(program, collective, positions).findFault())
      return fault;
  return std::nullopt;
}

SlowTrees test::slowTrees(ProgramOp program, const Collective &collective,
                          bool roundsOnce) {
  return SlowProgram(program, collective, collective.chunksPerSegment(),
                     roundsOnce)
      .trees();
}
