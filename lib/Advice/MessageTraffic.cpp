//===- MessageTraffic.cpp - What GPUs of several hosts send ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/MessageTraffic.h"

#include "sccl/ABI/NearParts.h"
#include "sccl/Conversion/Messages.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <set>

using namespace sccl;

using Kind = Action::Kind;

namespace {
using Rows = std::vector<const MessageRow *>;

/// Messages by peer.
struct Messages {
  std::map<unsigned, Rows> sent, received;

  void add(const MessageRow &row) {
    (row.kind == MessageRow::Send ? sent : received)[row.peer].push_back(&row);
  }
  std::set<unsigned> peers() const {
    std::set<unsigned> all;
    for (const auto *rows : {&sent, &received})
      for (const auto &[peer, unused] : *rows)
        all.insert(peer);
    return all;
  }
};

/// What a rank does in one round, by rows.
struct Round {
  std::vector<Rows> launches; ///< one after the other
  Messages far, near;
  /// Of `near` what goes beside the launches where messages are long, and what
  /// waits for them at one end.
  Messages early, late;
};

struct Host {
  std::set<unsigned> ranks;
  NearParts parts;
};

/// Makes channels of rounds. A rank has one for its stream, one for each rank
/// of its host, for what the two write to each other, and one for each rank
/// elsewhere to which it sends. The stream begins a round of these by a flag,
/// and each raises another at its end.
class RoundTraffic {
public:
  RoundTraffic(const Topology &topology, const Collective &collective,
               const MessageClock &clock, bool isBeside)
      : topology(topology), clock(clock), isBeside(isBeside),
        begun(topology.numRanks()) {
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
      reachesOutput &=
          collective.outputSlots(rank) > 0 &&
          collective.inputSlots(rank) <= collective.outputSlots(rank);
  }

  /// Adds all rounds of a rank.
  void add(unsigned rank, const std::vector<Round> &rounds);
  Traffic take();
  /// The first pair of ranks that no link joins.
  std::optional<Link> missing;

private:
  using Actions = std::vector<Action>;

  /// The receiver copies it on.
  bool lands(const MessageRow &row) const {
    return row.dst.buffer != unsigned(BufferField::Scratch) &&
           (row.dst.buffer != unsigned(BufferField::Output) || !reachesOutput);
  }
  unsigned linkOf(unsigned src, unsigned dst);
  unsigned flag(unsigned what, unsigned from, unsigned to);
  void signal(Actions &actions, unsigned link, unsigned flag, bool isFree);
  void wait(Actions &actions, unsigned flag, bool isFree);
  void pause(Actions &actions, double microseconds);
  void begin(unsigned rank, Actions &actions);
  void compute(unsigned rank, const Round &round);
  void writeNear(unsigned rank, unsigned peer, const Messages &messages);
  void writeNear(unsigned rank, const Messages &messages, Actions &actions);
  void writeBeside(unsigned rank, const Messages &messages);
  void send(unsigned rank, unsigned peer, const Rows &rows);
  void exchange(unsigned rank, const Messages &messages);
  void addRound(unsigned rank, const Round &round);

  const Topology &topology;
  const MessageClock &clock;
  const bool isBeside;
  /// Outputs are in memory that ranks of the host have mapped, as those of
  /// programs that write to all peers are.
  bool reachesOutput = true;
  std::vector<bool> begun; ///< by rank: some kernel of it has
  /// Of streams and second ones by rank, of writes and messages by rank and
  /// peer.
  std::map<unsigned, Actions> streams, sides;
  std::map<std::pair<unsigned, unsigned>, Actions> writes, messages;
  std::map<std::array<unsigned, 3>, unsigned> flags;
  unsigned value = 0; ///< of flags in the present part of a round
};

/// Of flags.
enum Meaning : unsigned {
  SideBegins,
  SideEnds,
  WritesBegin,
  MessagesBegin,
  Ready,
  Arrived,
  Done
};
} // namespace

unsigned RoundTraffic::linkOf(unsigned src, unsigned dst) {
  if (std::optional<unsigned> link = topology.findLink(src, dst))
    return *link;
  if (std::optional<unsigned> link = topology.findLink(dst, src))
    return *link;
  missing = Link{src, dst};
  return 0;
}

unsigned RoundTraffic::flag(unsigned what, unsigned from, unsigned to) {
  return flags.try_emplace({what, from, to}, flags.size()).first->second;
}

/// `isFree` is what takes no time but that of the link: streams know it.
void RoundTraffic::signal(Actions &actions, unsigned link, unsigned flag,
                          bool isFree) {
  actions.push_back({.kind = Kind::Signal,
                     .link = link,
                     .flag = flag,
                     .value = value,
                     .isWords = isFree});
}

void RoundTraffic::wait(Actions &actions, unsigned flag, bool isFree) {
  actions.push_back(
      {.kind = Kind::Wait, .flag = flag, .value = value, .isWords = isFree});
}

void RoundTraffic::pause(Actions &actions, double microseconds) {
  if (microseconds > 0)
    actions.push_back({.kind = Kind::Pause, .pause = microseconds});
}

/// A kernel. The first is what a launch of any program begins with.
void RoundTraffic::begin(unsigned rank, Actions &actions) {
  if (begun[rank])
    pause(actions, clock.kernelTime);
  begun[rank] = true;
}

static Action actionOf(const MessageRow &row, Kind kind) {
  Action action{.kind = kind, .bytes = double(row.count)};
  bool reduces = row.kind == MessageRow::Reduce;
  action.setOperands(reduces ? row.terms + 1 : 1, false, false);
  return action;
}

void RoundTraffic::compute(unsigned rank, const Round &round) {
  for (const Rows &rows : round.launches) {
    begin(rank, streams[rank]);
    for (const MessageRow *row : rows)
      streams[rank].push_back(actionOf(*row, Kind::Copy));
  }
}

/// As NearProgram.h of libsccl says.
void RoundTraffic::writeNear(unsigned rank, unsigned peer,
                             const Messages &messages) {
  Actions &actions = writes[{rank, peer}];
  auto sent = messages.sent.find(peer), received = messages.received.find(peer);
  bool sends = sent != messages.sent.end(),
       receives = received != messages.received.end();
  wait(actions, flag(WritesBegin, rank, rank), true);
  if (receives)
    signal(actions, linkOf(rank, peer), flag(Ready, rank, peer), false);
  if (sends) {
    wait(actions, flag(Ready, peer, rank), false);
    for (const MessageRow *row : sent->second) {
      actions.push_back(actionOf(*row, Kind::Push));
      actions.back().link = linkOf(rank, peer);
    }
    signal(actions, linkOf(rank, peer), flag(Arrived, rank, peer), false);
  }
  if (receives) {
    wait(actions, flag(Arrived, peer, rank), false);
    for (const MessageRow *row : received->second)
      if (lands(*row))
        actions.push_back(actionOf(*row, Kind::Copy));
  }
  signal(actions, Action::noLink, flag(Done, rank, peer), true);
}

void RoundTraffic::send(unsigned rank, unsigned peer, const Rows &rows) {
  Actions &actions = this->messages[{rank, peer}];
  wait(actions, flag(MessagesBegin, rank, rank), true);
  for (const MessageRow *row : rows) {
    actions.push_back(actionOf(*row, Kind::Push));
    actions.back().link = linkOf(rank, peer);
  }
  signal(actions, linkOf(rank, peer), flag(Arrived, rank, peer), true);
  signal(actions, Action::noLink, flag(Done, rank, peer), true);
}

/// A group of messages.
void RoundTraffic::exchange(unsigned rank, const Messages &messages) {
  std::set<unsigned> peers = messages.peers();
  if (peers.empty())
    return;
  Actions &stream = streams[rank];
  begun[rank] = true;
  pause(stream, clock.groupTime);
  signal(stream, Action::noLink, flag(MessagesBegin, rank, rank), true);
  for (const auto &[peer, rows] : messages.sent)
    send(rank, peer, rows);
  for (unsigned peer : peers) {
    if (messages.sent.contains(peer))
      wait(stream, flag(Done, rank, peer), true);
    if (messages.received.contains(peer))
      wait(stream, flag(Arrived, peer, rank), true);
  }
}

/// Writes of a part of a round, as a launch in `actions`.
void RoundTraffic::writeNear(unsigned rank, const Messages &messages,
                             Actions &actions) {
  std::set<unsigned> peers = messages.peers();
  if (peers.empty())
    return;
  begin(rank, actions);
  signal(actions, Action::noLink, flag(WritesBegin, rank, rank), true);
  for (unsigned peer : peers)
    writeNear(rank, peer, messages);
  for (unsigned peer : peers)
    wait(actions, flag(Done, rank, peer), true);
}

/// The same in a second stream, from here on.
void RoundTraffic::writeBeside(unsigned rank, const Messages &messages) {
  signal(streams[rank], Action::noLink, flag(SideBegins, rank, rank), true);
  Actions &side = sides[rank];
  wait(side, flag(SideBegins, rank, rank), true);
  writeNear(rank, messages, side);
  signal(side, Action::noLink, flag(SideEnds, rank, rank), true);
}

/// Flags have as many values for a round on all ranks, whatever these do in it.
void RoundTraffic::addRound(unsigned rank, const Round &round) {
  ++value;
  if (isBeside)
    writeBeside(rank, round.early);
  compute(rank, round);
  ++value;
  if (isBeside)
    writeBeside(rank, round.late);
  else
    writeNear(rank, round.near, streams[rank]);
  exchange(rank, round.far);
  if (isBeside)
    wait(streams[rank], flag(SideEnds, rank, rank), true);
}

void RoundTraffic::add(unsigned rank, const std::vector<Round> &rounds) {
  value = 0;
  for (const Round &round : rounds)
    addRound(rank, round);
}

Traffic RoundTraffic::take() {
  Traffic traffic;
  traffic.numFlags = unsigned(flags.size());
  auto add = [&](unsigned rank, Actions &actions, unsigned blocks) {
    traffic.channels.push_back({rank, std::move(actions), blocks});
  };
  for (auto &[rank, actions] : streams)
    add(rank, actions, blocksOfMessageKernels);
  for (auto &[rank, actions] : sides)
    add(rank, actions, blocksOfMessageKernels);
  std::map<unsigned, unsigned> peers;
  for (const auto &[ends, unused] : writes)
    ++peers[ends.first];
  for (auto &[ends, actions] : writes)
    add(ends.first, actions,
        std::max(blocksOfMessageKernels / peers[ends.first], 1u));
  for (auto &[ends, actions] : messages)
    add(ends.first, actions, blocksOfMessageKernels);
  return traffic;
}

static std::vector<Host> hostsOf(llvm::ArrayRef<RankMessages> ranks,
                                 const MessageClock &clock) {
  std::vector<Host> hosts(std::max<size_t>(clock.hosts.size(), 1));
  if (clock.hosts.empty())
    for (unsigned rank = 0; rank < ranks.size(); ++rank)
      hosts.front().ranks.insert(rank);
  for (auto [host, members] : llvm::zip(hosts, clock.hosts))
    host.ranks.insert(members.begin(), members.end());
  for (Host &host : hosts) {
    for (unsigned rank : host.ranks)
      host.parts.add(
          rank, ranks[rank].rows, ranks[rank].rounds,
          [&](uint32_t row) -> const auto & { return ranks[rank].next[row]; },
          [&](unsigned peer) { return host.ranks.contains(peer); });
    host.parts.settle();
  }
  return hosts;
}

/// The rounds of a rank, with these on its host.
static std::vector<Round> roundsOf(unsigned rank, const RankMessages &messages,
                                   const Host &host) {
  std::vector<Round> rounds;
  std::vector<size_t> launchOf(messages.rows.size());
  for (auto [number, row] : llvm::enumerate(messages.rows)) {
    size_t at = messages.rounds[number];
    rounds.resize(std::max(rounds.size(), at + 1));
    Round &round = rounds[at];
    if (row.isMessage()) {
      if (!host.ranks.contains(row.peer)) {
        round.far.add(row);
        continue;
      }
      round.near.add(row);
      (host.parts.isLate(rank, row) ? round.late : round.early).add(row);
      continue;
    }
    size_t launch = launchOf[number];
    round.launches.resize(std::max(round.launches.size(), launch + 1));
    round.launches[launch].push_back(&row);
    for (uint32_t next : messages.next[number])
      if (messages.rounds[next] == at)
        launchOf[next] = std::max(launchOf[next], launch + 1);
  }
  return rounds;
}

const Traffic &MessageTraffic::of(double chunkBytes) const {
  return mostChunks * chunkBytes >= longMessageBytes ? beside : inTurn;
}

mlir::FailureOr<MessageTraffic>
sccl::messageTrafficOf(coll::ProgramOp program, const Collective &collective,
                       const Topology &topology, const MessageClock &clock,
                       unsigned pieces) {
  mlir::FailureOr<std::vector<RankMessages>> ranks =
      makeMessages(program, collective, /*unweighted=*/true, pieces);
  if (failed(ranks))
    return mlir::failure();
  RoundTraffic inTurn(topology, collective, clock, /*isBeside=*/false),
      beside(topology, collective, clock, /*isBeside=*/true);
  MessageTraffic result;
  std::vector<Host> hosts = hostsOf(*ranks, clock);
  for (auto [rank, messages] : llvm::enumerate(*ranks)) {
    auto host = llvm::find_if(
        hosts, [&](const Host &host) { return host.ranks.contains(rank); });
    assert(host != hosts.end() && "a rank is on no host");
    std::vector<Round> rounds = roundsOf(rank, messages, *host);
    inTurn.add(rank, rounds);
    beside.add(rank, rounds);
    for (const MessageRow &row : messages.rows)
      if (row.kind == MessageRow::Send)
        result.mostChunks = std::max(result.mostChunks, double(row.count));
  }
  if (inTurn.missing)
    return program.emitOpError()
           << "sends from rank " << inTurn.missing->src << " to rank "
           << inTurn.missing->dst << ", which no link joins";
  result.inTurn = inTurn.take();
  result.beside = beside.take();
  return result;
}
