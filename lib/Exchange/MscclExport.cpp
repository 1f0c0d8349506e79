//===- MscclExport.cpp - From schedules to algorithms of MSCCL ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each end of a link is a thread block of its own, or several if there are more
// steps than a block has room for, each with a channel of its own. Steps of
// blocks wait for each other where they touch the same chunk; a wait that
// another one implies is left out.
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Msccl.h"

#include "CallLayout.h"
#include "MscclExport.h"
#include "MscclStructure.h"
#include "Transfers.h"

#include <algorithm>
#include <array>
#include <set>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
/// One end of a transfer, or a copy within a rank.
struct Action {
  unsigned rank;
  MscclType type;
  Location src, dst;
  std::vector<unsigned> chunks;
};
/// A block that is being filled, with numbers of actions.
struct OpenBlock {
  int sendPeer, receivePeer, channel;
  std::vector<unsigned> actions;
};

class Exporter {
public:
  Exporter(const Collective &collective, size_t stepsPerBlock)
      : collective(collective), mostSteps(stepsPerBlock), locations(collective),
        blocks(collective.numRanks()), accesses(collective.numRanks()) {}
  void add(const Step &step);
  void finish();
  MscclAlgorithm write() const;
  /// False if an input is sent that a call in place would have overwritten.
  bool keepsInputs = true;

private:
  struct Access {
    std::optional<unsigned> write;
    std::vector<unsigned> reads;
  };
  /// What is sent, and the place that is read for it.
  struct Source {
    Location location;
    unsigned place;
  };
  /// A send that keeps something or sends what is kept.
  struct Arrival {
    Send send;
    Source source;
    unsigned place = 0, receive = 0;
  };
  Source sourceOf(const Send &send);
  void addMove(Arrival &arrival);
  void finishMove(const Arrival &arrival);
  /// Adds the other sends of a step. Returns what receives them.
  std::vector<unsigned> addPlain(const Step &step);
  unsigned addLocal(unsigned rank, MscclType type, Location src, Location dst,
                    unsigned chunk);
  /// Appends an action to `block`.
  unsigned addAction(Action action, size_t block);
  void noteRead(unsigned action, unsigned place);
  void noteWrite(unsigned action, unsigned place);
  /// The blocks of a link's ends with room for one step more, made if there
  /// are none: numbers of blocks of the sender and the receiver.
  std::pair<size_t, size_t> openBlocks(unsigned src, unsigned dst);
  size_t localBlock(unsigned rank);
  std::vector<unsigned> neededWaits(const OpenBlock &block,
                                    size_t position) const;
  MscclBlock writeBlock(unsigned rank, size_t number,
                        const std::vector<int> &stepOf) const;
  std::vector<int> numberSteps() const;

  const Collective &collective;
  const size_t mostSteps;
  Locations locations;
  std::vector<Action> actions;
  std::vector<std::vector<OpenBlock>> blocks;       ///< by rank
  std::vector<size_t> blockOf, positionOf;          ///< by action
  std::vector<std::set<unsigned>> waits;            ///< by action, for actions
  std::vector<std::map<unsigned, Access>> accesses; ///< by rank and place
  /// By sender and receiver, the last channel and the blocks of its ends.
  std::map<std::pair<unsigned, unsigned>, std::array<size_t, 3>> open;
  int numChannels = 1;
};
} // namespace

unsigned Exporter::addAction(Action action, size_t block) {
  auto number = unsigned(actions.size());
  OpenBlock &home = blocks[action.rank][block];
  blockOf.push_back(block);
  positionOf.push_back(home.actions.size());
  home.actions.push_back(number);
  waits.emplace_back();
  actions.push_back(std::move(action));
  return number;
}

void Exporter::noteRead(unsigned action, unsigned place) {
  Access &access = accesses[actions[action].rank][place];
  if (access.write && *access.write != action)
    waits[action].insert(*access.write);
  access.reads.push_back(action);
}

void Exporter::noteWrite(unsigned action, unsigned place) {
  Access &access = accesses[actions[action].rank][place];
  for (unsigned reader : access.reads)
    if (reader != action)
      waits[action].insert(reader);
  if (access.write && *access.write != action)
    waits[action].insert(*access.write);
  access.reads.clear();
  access.write = action;
}

std::pair<size_t, size_t> Exporter::openBlocks(unsigned src, unsigned dst) {
  auto [at, isNew] = open.try_emplace({src, dst});
  auto &[channel, sender, receiver] = at->second;
  // A wait may take a nop, so that half of the steps are kept for them.
  bool isFull =
      !isNew && (blocks[src][sender].actions.size() * 2 >= mostSteps ||
                 blocks[dst][receiver].actions.size() * 2 >= mostSteps);
  if (isNew || isFull) {
    // As many blocks of a rank and direction share a channel as may.
    constexpr size_t mostPerChannel = 32;
    auto count = [&](unsigned rank, bool isSend, size_t at) {
      return size_t(
          std::ranges::count_if(blocks[rank], [&](const OpenBlock &block) {
            return (isSend ? block.sendPeer : block.receivePeer) >= 0 &&
                   size_t(block.channel) == at;
          }));
    };
    channel = isNew ? 0 : channel + 1;
    while (count(src, true, channel) >= mostPerChannel ||
           count(dst, false, channel) >= mostPerChannel)
      ++channel;
    numChannels = std::max(numChannels, int(channel) + 1);
    sender = blocks[src].size();
    blocks[src].push_back({int(dst), -1, int(channel), {}});
    receiver = blocks[dst].size();
    blocks[dst].push_back({-1, int(src), int(channel), {}});
  }
  return {sender, receiver};
}

void Exporter::add(const Step &step) {
  Step plain{step.rounds, {}};
  std::vector<Arrival> arrivals;
  for (const Send &send : step.sends) {
    if (send.payload == SendPayload::Input &&
        locations.wasWritten(send.src, send.chunk))
      keepsInputs = false;
    if (send.keep == 0 && send.kept == 0)
      plain.sends.push_back(send);
    else
      arrivals.push_back({send, sourceOf(send)});
  }
  // All that is read is noted before anything that is written.
  std::vector<unsigned> receives = addPlain(plain);
  for (Arrival &arrival : arrivals)
    addMove(arrival);
  for (unsigned receive : receives)
    for (unsigned chunk : actions[receive].chunks)
      noteWrite(receive, chunk);
  for (const Arrival &arrival : arrivals)
    finishMove(arrival);
}

unsigned Exporter::addLocal(unsigned rank, MscclType type, Location src,
                            Location dst, unsigned chunk) {
  return addAction({rank, type, src, dst, {chunk}}, localBlock(rank));
}

/// Where what `send` carries is. Sums of several are made here.
Exporter::Source Exporter::sourceOf(const Send &send) {
  unsigned rank = send.src;
  std::vector<Source> parts;
  if (send.payload == SendPayload::Current)
    return {locations.of(rank, send.chunk), send.chunk};
  if (send.payload == SendPayload::Input)
    parts.push_back({locations.input(rank, send.chunk), send.chunk});
  send.forEachKept([&](unsigned number) {
    unsigned place = locations.keptPlace(send.chunk, number);
    parts.push_back({locations.atPlace(rank, place), place});
  });
  if (parts.size() == 1)
    return parts.front();
  unsigned place = locations.newPlace();
  Location sum = locations.atPlace(rank, place);
  for (const Source &part : parts) {
    bool isFirst = &part == &parts.front();
    unsigned action =
        addLocal(rank, isFirst ? MscclType::Copy : MscclType::Reduce,
                 part.location, sum, send.chunk);
    noteRead(action, part.place);
    noteWrite(action, place);
  }
  return {sum, place};
}

/// What is kept arrives where it is kept, other values where they belong.
void Exporter::addMove(Arrival &arrival) {
  const Send &send = arrival.send;
  bool isReduction = send.action == SendAction::Reduce && send.keep == 0;
  arrival.place =
      send.keep ? locations.keptPlace(send.chunk, send.keep) : send.chunk;
  Location local = arrival.source.location;
  if (isReduction)
    local = locations.of(send.dst, send.chunk);
  Location to = send.keep ? locations.atPlace(send.dst, arrival.place)
                          : locations.write(send.dst, send.chunk);
  auto [sender, receiver] = openBlocks(send.src, send.dst);
  unsigned from = addAction(
      {send.src, MscclType::Send, arrival.source.location, to, {send.chunk}},
      sender);
  noteRead(from, arrival.source.place);
  arrival.receive = addAction(
      {send.dst,
       isReduction ? MscclType::ReceiveReduceCopy : MscclType::Receive,
       local,
       to,
       {send.chunk}},
      receiver);
}

/// What is kept goes into the value as well, unless it is only kept.
void Exporter::finishMove(const Arrival &arrival) {
  const Send &send = arrival.send;
  noteWrite(arrival.receive, arrival.place);
  if (send.keep == 0 || send.action == SendAction::Keep)
    return;
  bool isWritten = locations.wasWritten(send.dst, send.chunk);
  bool isReduction =
      send.action == SendAction::Reduce &&
      (isWritten || collective.pre().contains(send.dst, send.chunk));
  Location kept = locations.atPlace(send.dst, arrival.place);
  Location before = locations.of(send.dst, send.chunk);
  Location value = locations.write(send.dst, send.chunk);
  if (isReduction && !isWritten)
    noteWrite(addLocal(send.dst, MscclType::Copy, before, value, send.chunk),
              send.chunk);
  unsigned action =
      addLocal(send.dst, isReduction ? MscclType::Reduce : MscclType::Copy,
               kept, value, send.chunk);
  noteRead(action, arrival.place);
  noteWrite(action, send.chunk);
}

std::vector<unsigned> Exporter::addPlain(const Step &step) {
  std::vector<Transfer> transfers = transfersOf(step, locations);
  std::vector<unsigned> receives;
  for (const Transfer &transfer : transfers) {
    auto [sender, receiver] = openBlocks(transfer.src, transfer.dst);
    unsigned send = addAction({transfer.src, MscclType::Send, transfer.from,
                               transfer.to, transfer.chunks},
                              sender);
    for (unsigned chunk : transfer.chunks)
      noteRead(send, chunk);
    receives.push_back(addAction(
        {transfer.dst,
         transfer.reduces ? MscclType::ReceiveReduceCopy : MscclType::Receive,
         transfer.local, transfer.to, transfer.chunks},
        receiver));
  }
  return receives;
}

size_t Exporter::localBlock(unsigned rank) {
  std::vector<OpenBlock> &all = blocks[rank];
  if (all.empty() || all.back().sendPeer >= 0 || all.back().receivePeer >= 0 ||
      all.back().actions.size() * 2 >= mostSteps)
    all.push_back({-1, -1, 0, {}});
  return all.size() - 1;
}

/// Copies inputs that nobody sends to where they are asked for.
void Exporter::finish() {
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    std::vector<unsigned> left;
    for (unsigned chunk : collective.post().chunksOf(rank))
      if (!locations.wasWritten(rank, chunk) &&
          collective.pre().contains(rank, chunk))
        left.push_back(chunk);
    for (size_t i = 0; i < left.size();) {
      size_t count = 1;
      Location from = locations.input(rank, left[i]);
      Location to = locations.output(rank, left[i]);
      while (i + count < left.size() && count < 64 &&
             locations.input(rank, left[i + count]) == after(from, count) &&
             locations.output(rank, left[i + count]) == after(to, count))
        ++count;
      addAction({rank,
                 MscclType::Copy,
                 from,
                 to,
                 {left.begin() + long(i), left.begin() + long(i + count)}},
                localBlock(rank));
      i += count;
    }
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// What the action at `position` of `block` has to wait for: of each other
/// block the last, unless an earlier one of its own block has waited for it.
std::vector<unsigned> Exporter::neededWaits(const OpenBlock &block,
                                            size_t position) const {
  unsigned action = block.actions[position];
  std::map<size_t, unsigned> last;
  for (unsigned other : waits[action])
    if (blockOf[other] != blockOf[action]) {
      auto [at, isNew] = last.try_emplace(blockOf[other], other);
      if (!isNew && positionOf[other] > positionOf[at->second])
        at->second = other;
    }
  for (size_t before = 0; before < position; ++before)
    for (unsigned other : waits[block.actions[before]])
      if (auto at = last.find(blockOf[other]);
          at != last.end() && positionOf[other] >= positionOf[at->second])
        last.erase(at);
  std::vector<unsigned> needed;
  for (auto [number, other] : last)
    needed.push_back(other);
  return needed;
}

/// The numbers of all actions in their blocks, with nops counted.
std::vector<int> Exporter::numberSteps() const {
  std::vector<int> stepOf(actions.size());
  for (const std::vector<OpenBlock> &ofRank : blocks)
    for (const OpenBlock &block : ofRank) {
      int next = 0;
      for (size_t i = 0; i < block.actions.size(); ++i) {
        size_t count = neededWaits(block, i).size();
        next += count > 1 ? int(count - 1) : 0;
        stepOf[block.actions[i]] = next++;
      }
    }
  return stepOf;
}

MscclBlock Exporter::writeBlock(unsigned rank, size_t number,
                                const std::vector<int> &stepOf) const {
  const OpenBlock &open = blocks[rank][number];
  MscclBlock block{{}, open.sendPeer, open.receivePeer, open.channel, {}};
  for (size_t i = 0; i < open.actions.size(); ++i) {
    const Action &action = actions[open.actions[i]];
    std::vector<unsigned> needed = neededWaits(open, i);
    MscclStep step{{},
                   MscclType::Nop,
                   action.src.buffer,
                   action.dst.buffer,
                   action.src.chunk,
                   action.dst.chunk,
                   int(action.chunks.size()),
                   -1,
                   -1,
                   false};
    for (size_t k = 0; k < needed.size(); ++k) {
      step.waitsForBlock = int(blockOf[needed[k]]);
      step.waitsForStep = stepOf[needed[k]];
      if (k + 1 < needed.size())
        block.steps.push_back(step);
    }
    step.type = action.type;
    block.steps.push_back(step);
  }
  return block;
}

MscclAlgorithm Exporter::write() const {
  MscclAlgorithm result{};
  result.numChannels = numChannels;
  std::vector<int> stepOf = numberSteps();
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    MscclGpu gpu{{}, 0, 0, locations.numScratch(rank), {}};
    for (size_t number = 0; number < blocks[rank].size(); ++number)
      gpu.blocks.push_back(writeBlock(rank, number, stepOf));
    for (const MscclBlock &block : gpu.blocks)
      for (const MscclStep &step : block.steps)
        if (step.waitsForBlock >= 0)
          gpu.blocks[step.waitsForBlock].steps[step.waitsForStep].isAwaited =
              true;
    result.gpus.push_back(std::move(gpu));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// As files spell it for `dialect`; empty if they have no word for it.
static std::string spelling(CollectiveKind kind, MscclDialect dialect) {
  using enum CollectiveKind;
  bool isOriginal = dialect == MscclDialect::Original;
  if (kind == Custom || (isOriginal && (kind == Gather || kind == Scatter)))
    return "";
  std::string name(collectiveName(kind));
  if (kind != ReduceScatter || !isOriginal)
    std::erase(name, '_');
  return name;
}

MscclAlgorithm exchange::makeMsccl(const Collective &collective,
                                   const Schedule &schedule,
                                   size_t stepsPerBlock) {
  Exporter exporter(collective, stepsPerBlock);
  for (const Step &step : schedule.steps)
    exporter.add(step);
  exporter.finish();
  MscclAlgorithm result = exporter.write();
  Call call{collective.kind(), collective.numRanks(), collective.chunks(),
            collective.root(), false};
  call.chunks *= call.gathers() ? call.ranks : 1;
  result.chunks = int(call.chunks);
  for (MscclGpu &gpu : result.gpus) {
    gpu.inputChunks = int(call.inputs());
    gpu.outputChunks = int(call.outputs());
  }
  result.inPlace =
      exporter.keepsInputs && collective.kind() != CollectiveKind::AllToAll;
  result.outOfPlace = true;
  return result;
}

Result<MscclAlgorithm> exchange::toMsccl(const Collective &collective,
                                         const Schedule &schedule,
                                         const MscclExportOptions &options) {
  std::string name = spelling(collective.kind(), options.dialect);
  if (name.empty())
    return Error{std::string(mscclDialectName(options.dialect)) + " has no '" +
                 collective.name() + "'"};
  MscclAlgorithm result =
      makeMsccl(collective, schedule, stepsPerBlock(options.dialect));
  result.name = options.name;
  result.collective = name;
  result.protocol = options.protocol;
  result.minBytes = options.minBytes;
  result.maxBytes = options.maxBytes;
  Findings findings;
  MscclCheckOptions check;
  check.dialect = options.dialect;
  check.root = collective.root();
  if (!checkMsccl(result, check, findings))
    return Error{"as an algorithm of MSCCL it is refused: " +
                 findings.first().front().message};
  return result;
}
