//===- NearProgram.cpp - Messages within a host, as writes ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearProgram.h"

#include "RoundProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;

/// More groups than links to peers are of no use.
static constexpr unsigned mostGroups = 8;
/// Flags count parts of rounds within a launch of all of them.
static constexpr uint32_t partsPerLaunch = 1 << 24;
/// A thread handles each flag of a row, and no block has fewer.
static constexpr size_t flagsPerRow = 32;

NearLayout::NearLayout(llvm::ArrayRef<unsigned> ranks, unsigned own,
                       unsigned sets, unsigned blocks)
    : theRanks(ranks.vec()), theOwn(own), sets(sets) {
  while (theGroups < std::min(mostGroups, blocks / 2))
    theGroups *= 2;
  this->blocks = std::max(blocks / theGroups, 1u);
}

unsigned NearLayout::numberOf(unsigned rank) const {
  return llvm::find(theRanks, rank) - theRanks.begin();
}

//===----------------------------------------------------------------------===//
// Where messages arrive
//===----------------------------------------------------------------------===//

namespace {
/// Where messages that a rank receives arrive, by peer and tag.
using Places = std::map<std::pair<uint32_t, uint32_t>, MessageSlot>;
} // namespace

/// Peers know a rank's scratch memory, and if `reachesOutput` its output; what
/// is for other buffers arrives behind the program's scratch. Returns how many
/// slots are used there.
static uint32_t placeMessages(const MessageProgram &program,
                              llvm::ArrayRef<unsigned> ranks,
                              bool reachesOutput, Places &places) {
  std::map<uint32_t, uint32_t> used; // by round
  uint32_t most = 0;
  for (auto [row, round] : llvm::zip(program.rows(), program.rounds())) {
    if (row.kind != MessageRow::Receive || !llvm::is_contained(ranks, row.peer))
      continue;
    MessageSlot &place = places[{row.peer, row.tag}];
    place = row.dst;
    if (row.dst.buffer == unsigned(BufferField::Scratch) ||
        (reachesOutput && row.dst.buffer == unsigned(BufferField::Output)))
      continue;
    uint32_t &slots = used[round];
    place = {unsigned(BufferField::Scratch),
             program.header().scratchSlots + slots};
    slots += row.count;
    most = std::max(most, slots);
  }
  return most;
}

NearProgram::Needs NearProgram::needs(const MessageProgram &program,
                                      llvm::ArrayRef<unsigned> ranks) {
  Places places;
  std::set<uint32_t> rounds;
  for (auto [row, round] : llvm::zip(program.rows(), program.rounds()))
    if (row.isMessage() && llvm::is_contained(ranks, row.peer))
      rounds.insert(round);
  return {placeMessages(program, ranks, /*reachesOutput=*/false, places),
          uint32_t(rounds.size()) * Part::NumParts};
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
using Part = NearLayout::Part;

/// Between this rank and one of its host, in one part of a round.
struct Way {
  std::vector<TableRow> copies;   ///< to the peer
  std::vector<TableRow> landings; ///< of what comes from it
  bool lands = false;             ///< the peer has some of what is copied
  bool receives = false;          ///< something comes from it
};

/// The rows of a group of blocks, and the flags of all groups.
class GroupRows {
public:
  GroupRows(const NearLayout &layout, unsigned set, uint32_t round, Part part)
      : layout(layout), set(set), round(round), part(part) {}

  void add(const std::vector<Way> &ways, unsigned group);

  std::vector<TableRow> rows; ///< with flags counted from 0
  std::vector<TableFlag> flags;

private:
  /// What a flag tells.
  enum Meaning { Ready, Arrived };
  void addFlags(TableRow::Kind kind, Meaning meaning,
                llvm::ArrayRef<unsigned> peers);

  const NearLayout &layout;
  const unsigned set;
  const uint32_t round;
  const Part part;
};
} // namespace

void GroupRows::addFlags(TableRow::Kind kind, Meaning meaning,
                         llvm::ArrayRef<unsigned> peers) {
  for (; !peers.empty();
       peers = peers.drop_front(std::min<size_t>(peers.size(), flagsPerRow))) {
    llvm::ArrayRef<unsigned> some = peers.take_front(flagsPerRow);
    rows.push_back({kind,
                    uint32_t(flags.size()),
                    uint32_t(some.size()),
                    /*times=*/1,
                    {},
                    {},
                    {}});
    for (unsigned peer : some) {
      unsigned of = kind == TableRow::Signal ? layout.own() : peer;
      uint64_t offset = meaning == Ready ? layout.readyFlag(set, part, of)
                                         : layout.arrivedFlag(set, part, of);
      flags.push_back({peer, FlagOffset{uint32_t(offset)}.word(),
                       partsPerLaunch, 2 * round + 1 + (part == Part::Late)});
    }
  }
}

/// Each group has another peer first. At the other end of a way it has the same
/// turn, so that what arrives is copied on in the order in which it comes.
void GroupRows::add(const std::vector<Way> &ways, unsigned group) {
  unsigned size = layout.size(), others = size - 1;
  std::vector<unsigned> to, from, arrives, isDone;
  for (unsigned turn = 0; turn < others; ++turn) {
    unsigned apart = 1 + (group * others / layout.groups() + turn) % others;
    unsigned next = (layout.own() + apart) % size,
             last = (layout.own() + size - apart) % size;
    if (!ways[next].copies.empty())
      to.push_back(next);
    if (ways[last].receives)
      from.push_back(last);
  }
  addFlags(TableRow::Signal, Ready, from);
  addFlags(TableRow::Wait, Ready, to);
  for (unsigned peer : to) {
    llvm::append_range(rows, ways[peer].copies);
    if (ways[peer].lands)
      addFlags(TableRow::Signal, Arrived, peer);
    else
      isDone.push_back(peer);
  }
  addFlags(TableRow::Signal, Arrived, isDone);
  for (unsigned peer : from) {
    if (ways[peer].landings.empty()) {
      arrives.push_back(peer);
      continue;
    }
    addFlags(TableRow::Wait, Arrived, peer);
    llvm::append_range(rows, ways[peer].landings);
  }
  addFlags(TableRow::Wait, Arrived, arrives);
}

/// Appends the table of some part of a round, which has an entry for each
/// group.
static void appendTable(std::string &bytes, const std::vector<Way> &ways,
                        const NearLayout &layout, unsigned set, uint32_t round,
                        Part part, uint64_t epoch, const MessageHeader &of) {
  auto append = [&](const auto &part) {
    bytes.append(reinterpret_cast<const char *>(&part), sizeof(part));
  };
  constexpr uint32_t headerUnits = sizeof(TableHeader) / tableUnitBytes,
                     rowUnits = sizeof(TableRow) / tableUnitBytes;
  GroupRows all(layout, set, round, part);
  std::vector<uint32_t> ends;
  for (unsigned group = 0; group < layout.groups(); ++group) {
    all.add(ways, group);
    ends.push_back(all.rows.size());
  }
  TableHeader header = {};
  header.chunksPerSegment = of.chunksPerSegment;
  header.blocks = layout.blocksPerGroup();
  header.channels = layout.groups();
  header.ranks = 1;
  header.version = tableVersion;
  header.channelEnds = headerUnits + header.channels;
  header.slots = 2 * of.chunksPerSegment + of.scratchSlots;
  append(header);
  uint32_t firstRow = header.channelEnds + 1;
  uint32_t firstFlag = firstRow + all.rows.size() * rowUnits;
  uint32_t parts = llvm::Log2_32(layout.groups()) << TableChannel::partsShift;
  for (unsigned group = 0; group < layout.groups(); ++group) {
    uint32_t begin = group == 0 ? 0 : ends[group - 1];
    append(TableChannel{firstRow + begin * rowUnits, ends[group] - begin,
                        uint32_t(epoch),
                        parts | group << TableChannel::groupShift});
  }
  append(std::array<uint32_t, 4>{header.channels});
  for (TableRow &row : all.rows) {
    if (row.kind == TableRow::Signal || row.kind == TableRow::Wait)
      row.position += firstFlag;
    append(row);
  }
  for (const TableFlag &flag : all.flags)
    append(flag);
}

namespace {
/// The ways of a rank, by round, part and number of the peer.
class WayFinder {
public:
  WayFinder(llvm::ArrayRef<MessageProgram> host, const NearParts &nearParts,
            const NearLayout &layout, bool reachesOutput)
      : host(host), nearParts(nearParts), layout(layout),
        own(host[layout.own()]), places(host.size()) {
    for (unsigned i = 0; i < host.size(); ++i)
      (void)placeMessages(host[i], layout.ranks(), reachesOutput, places[i]);
  }
  Status find();

  std::map<uint32_t, std::array<std::vector<Way>, Part::NumParts>> rounds;

private:
  Status addSend(const MessageRow &row, unsigned peer, Way &way);
  void addReceive(const MessageRow &row, unsigned peer, Way &way);
  /// Of rank number `number` of the host.
  TableSlot slotOf(unsigned number, const MessageSlot &slot) const {
    constexpr unsigned fields = unsigned(BufferField::Count);
    TableSlot result = ownSlot(slot);
    result.where = int32_t(number * fields + slot.buffer);
    return result;
  }
  TableSlot ownSlot(const MessageSlot &slot) const {
    return tableSlotOf(slot, /*step=*/0, own.header().chunksPerSegment);
  }

  llvm::ArrayRef<MessageProgram> host;
  const NearParts &nearParts;
  const NearLayout &layout;
  const MessageProgram &own;
  std::vector<Places> places; ///< by number
};
} // namespace

Status WayFinder::addSend(const MessageRow &row, unsigned peer, Way &way) {
  auto found = places[peer].find({own.header().rank, row.tag});
  if (found == places[peer].end())
    return {scclErrorInvalidPlan,
            "a table of messages has one that its receiver does not have"};
  way.copies.push_back({TableRow::Copy,
                        row.position,
                        row.count,
                        /*times=*/1,
                        slotOf(peer, found->second),
                        ownSlot(row.src),
                        {}});
  const auto &[buffer, slot] = found->second;
  way.lands |= buffer == unsigned(BufferField::Scratch) &&
               slot >= host[peer].header().scratchSlots;
  return {};
}

void WayFinder::addReceive(const MessageRow &row, unsigned peer, Way &way) {
  way.receives = true;
  const MessageSlot &landing =
      places[layout.own()].at({layout.ranks()[peer], row.tag});
  if (landing == row.dst)
    return;
  way.landings.push_back({TableRow::Copy,
                          row.position,
                          row.count,
                          /*times=*/1,
                          ownSlot(row.dst),
                          ownSlot(landing),
                          {}});
}

Status WayFinder::find() {
  for (auto [row, round] : llvm::zip(own.rows(), own.rounds())) {
    unsigned peer = row.isMessage() ? layout.numberOf(row.peer) : layout.size();
    if (peer == layout.size())
      continue;
    if (round >= partsPerLaunch / 2)
      return {scclErrorUnsupported, "the plan has too many rounds of messages"};
    Part part =
        nearParts.isLate(own.header().rank, row) ? Part::Late : Part::Early;
    for (Part of : {Part::Whole, part}) {
      std::vector<Way> &ways = rounds[round][of];
      ways.resize(layout.size());
      if (row.kind == MessageRow::Receive)
        addReceive(row, peer, ways[peer]);
      else if (Status status = addSend(row, peer, ways[peer]); !status.ok())
        return status;
    }
  }
  return {};
}

NearParts NearProgram::divide(llvm::ArrayRef<MessageProgram> host,
                              const NearLayout &layout) {
  NearParts parts;
  for (auto [rank, program] : llvm::zip(layout.ranks(), host))
    parts.add(
        rank, program.rows(), program.rounds(),
        [&](uint32_t row) { return program.next(program.rows()[row]); },
        [&](uint32_t peer) { return layout.numberOf(peer) < layout.size(); });
  parts.settle();
  return parts;
}

Status NearProgram::make(llvm::ArrayRef<MessageProgram> host,
                         const NearParts &nearParts, unsigned set,
                         unsigned firstEpoch, const NearLayout &layout,
                         bool reachesOutput, NearProgram &program) {
  WayFinder finder(host, nearParts, layout, reachesOutput);
  if (Status status = finder.find(); !status.ok())
    return status;
  for (const auto &[round, parts] : finder.rounds) {
    Round none;
    none.fill(noTable);
    program.rounds.resize(round + 1, none);
    for (Part part : {Part::Whole, Part::Early, Part::Late}) {
      uint64_t epoch = layout.epoch(firstEpoch++);
      if (epoch > UINT32_MAX / 2)
        return {scclErrorUnsupported,
                "the plan has too many messages within a host"};
      if (parts[part].empty())
        continue;
      program.rounds[round][part] = program.tables.size();
      appendTable(program.tables, parts[part], layout, set, round, part, epoch,
                  host[layout.own()].header());
    }
  }
  return {};
}
