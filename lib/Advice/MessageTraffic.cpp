//===- MessageTraffic.cpp - What GPUs of several hosts send ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/MessageTraffic.h"

#include "sccl/Conversion/Messages.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;

using Kind = Action::Kind;

namespace {
/// What a rank does in one round, by rows.
struct Round {
  using Rows = std::vector<const MessageRow *>;
  std::vector<Rows> launches;              ///< one after the other
  std::map<unsigned, Rows> sent, received; ///< by peer
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
        hostOf(topology.numRanks()), begun(topology.numRanks()) {
    for (auto [host, ranks] : llvm::enumerate(clock.hosts))
      for (unsigned rank : ranks)
        hostOf[rank] = host;
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
  bool isNear(unsigned rank, unsigned peer) const {
    return hostOf[rank] == hostOf[peer];
  }
  unsigned linkOf(unsigned src, unsigned dst);
  unsigned flag(unsigned what, unsigned from, unsigned to);
  void signal(Actions &actions, unsigned link, unsigned flag, bool isFree);
  void wait(Actions &actions, unsigned flag, bool isFree);
  void pause(Actions &actions, double microseconds);
  void begin(unsigned rank);
  void compute(unsigned rank, const Round &round);
  void writeNear(unsigned rank, unsigned peer, const Round &round);
  void send(unsigned rank, unsigned peer, const Round::Rows &rows);
  void addRound(unsigned rank, const Round &round);

  const Topology &topology;
  const MessageClock &clock;
  const bool isBeside;
  /// Outputs are in memory that ranks of the host have mapped, as those of
  /// programs that write to all peers are.
  bool reachesOutput = true;
  std::vector<unsigned> hostOf;
  std::vector<bool> begun; ///< by rank: some kernel of it has
  /// Of streams by rank, of writes and messages by rank and peer.
  std::map<unsigned, Actions> streams;
  std::map<std::pair<unsigned, unsigned>, Actions> writes, messages;
  std::map<std::array<unsigned, 3>, unsigned> flags;
  unsigned value = 0; ///< of flags in the present round
};

/// Of flags.
enum Meaning : unsigned { WritesBegin, MessagesBegin, Ready, Arrived, Done };
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
void RoundTraffic::begin(unsigned rank) {
  if (begun[rank])
    pause(streams[rank], clock.kernelTime);
  begun[rank] = true;
}

static Action actionOf(const MessageRow &row, Kind kind) {
  Action action{.kind = kind, .bytes = double(row.count)};
  bool reduces = row.kind == MessageRow::Reduce;
  action.setOperands(reduces ? row.terms + 1 : 1, false, false);
  return action;
}

void RoundTraffic::compute(unsigned rank, const Round &round) {
  for (const Round::Rows &rows : round.launches) {
    begin(rank);
    for (const MessageRow *row : rows)
      streams[rank].push_back(actionOf(*row, Kind::Copy));
  }
}

/// As NearProgram.h of libsccl says.
void RoundTraffic::writeNear(unsigned rank, unsigned peer, const Round &round) {
  Actions &actions = writes[{rank, peer}];
  auto sent = round.sent.find(peer), received = round.received.find(peer);
  bool sends = sent != round.sent.end(),
       receives = received != round.received.end();
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

void RoundTraffic::send(unsigned rank, unsigned peer, const Round::Rows &rows) {
  Actions &actions = messages[{rank, peer}];
  wait(actions, flag(MessagesBegin, rank, rank), true);
  for (const MessageRow *row : rows) {
    actions.push_back(actionOf(*row, Kind::Push));
    actions.back().link = linkOf(rank, peer);
  }
  signal(actions, linkOf(rank, peer), flag(Arrived, rank, peer), true);
  signal(actions, Action::noLink, flag(Done, rank, peer), true);
}

void RoundTraffic::addRound(unsigned rank, const Round &round) {
  ++value;
  compute(rank, round);
  std::set<unsigned> near, far;
  for (const auto *rows : {&round.sent, &round.received})
    for (const auto &[peer, unused] : *rows)
      (isNear(rank, peer) ? near : far).insert(peer);
  Actions &stream = streams[rank];
  if (!near.empty()) {
    begin(rank);
    signal(stream, Action::noLink, flag(WritesBegin, rank, rank), true);
    for (unsigned peer : near)
      writeNear(rank, peer, round);
  }
  auto awaitWrites = [&] {
    for (unsigned peer : near)
      wait(stream, flag(Done, rank, peer), true);
  };
  if (!isBeside)
    awaitWrites();
  if (!far.empty()) {
    begun[rank] = true;
    pause(stream, clock.groupTime);
    signal(stream, Action::noLink, flag(MessagesBegin, rank, rank), true);
    for (unsigned peer : far)
      if (auto sent = round.sent.find(peer); sent != round.sent.end())
        send(rank, peer, sent->second);
    for (unsigned peer : far) {
      if (round.sent.contains(peer))
        wait(stream, flag(Done, rank, peer), true);
      if (round.received.contains(peer))
        wait(stream, flag(Arrived, peer, rank), true);
    }
  }
  if (isBeside)
    awaitWrites();
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

/// The rounds of a rank.
static std::vector<Round> roundsOf(const RankMessages &messages) {
  std::vector<Round> rounds;
  std::vector<size_t> launchOf(messages.rows.size());
  for (auto [number, row] : llvm::enumerate(messages.rows)) {
    size_t at = messages.rounds[number];
    rounds.resize(std::max(rounds.size(), at + 1));
    Round &round = rounds[at];
    if (row.kind == MessageRow::Send || row.kind == MessageRow::Receive) {
      auto &rows = row.kind == MessageRow::Send ? round.sent : round.received;
      rows[row.peer].push_back(&row);
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
  for (auto [rank, messages] : llvm::enumerate(*ranks)) {
    std::vector<Round> rounds = roundsOf(messages);
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
