//===- PointToPoint.cpp - Programs of sends and receives ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code is the same for all schedules, and reads what a rank does from a
// text, as people do: it is one string of a literal, which compilers and Python
// load at once however many ranks there are.
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/PointToPoint.h"

#include "EmittedCode.h"
#include "ExchangeRounds.h"

#include "sccl/Model/Text.h"

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// What the forms differ in.
struct SourceForm {
  std::string_view suffix, comment;
  const char *(*code)();
  std::string_view chunks, open, openRank, closeRank, close;
};
} // namespace

static const SourceForm &formOf(PointToPointForm form) {
  static const SourceForm python{".py",
                                 "#",
                                 &emitted::torchP2P,
                                 "\n\nCHUNKS = ",
                                 "\nPROGRAM = [\n",
                                 "    \"\"\"",
                                 "    \"\"\",\n",
                                 "]\n"};
  static const SourceForm cpp{".cpp",
                              "//",
                              &emitted::ncclHost,
                              "\nconst int SCCL_PROGRAM::chunksPerSegment = ",
                              ";\nconst char *const "
                              "SCCL_PROGRAM::programs[] = {\n",
                              "    R\"(",
                              "    )\",\n",
                              "};\nconst int SCCL_PROGRAM::numRanks = "
                              "sizeof(programs) / sizeof(programs[0]);\n"};
  return form == PointToPointForm::TorchP2P ? python : cpp;
}

std::optional<PointToPointForm>
exchange::pointToPointForm(std::string_view path) {
  for (PointToPointForm form :
       {PointToPointForm::TorchP2P, PointToPointForm::NcclHost})
    if (path.ends_with(formOf(form).suffix))
      return form;
  return std::nullopt;
}

namespace {
/// Writes the lines of ranks.
class LineWriter {
public:
  explicit LineWriter(std::string &text) : text(text) {}
  void write(const ExchangeRound &round, bool isFirst);

private:
  void write(const RoundAction &action);
  void number(uint32_t value) { text += std::to_string(value); }
  void word(uint32_t value) {
    text += ' ';
    number(value);
  }

  std::string &text;
};
} // namespace

void LineWriter::write(const RoundAction &action) {
  bool isLocal = action.kind == RoundAction::Local;
  bool isSum = action.places.size() > 2;
  text += isLocal
              ? (isSum ? "    sum " : "    copy ")
              : (action.kind == RoundAction::Send ? "    send " : "    recv ");
  number(action.position);
  text += '+';
  number(action.count);
  for (const RunStart &place : action.places) {
    text += ' ';
    text += "ios"[size_t(place.buffer)];
    number(place.slot);
  }
  if (!isLocal)
    word(action.peer);
  else if (isSum)
    for (uint32_t weight :
         {action.leftShift, action.rightShift, action.divisor})
      word(weight);
  text += '\n';
}

void LineWriter::write(const ExchangeRound &round, bool isFirst) {
  // What is done before any message is in no round.
  if (!isFirst || !round.messages.empty())
    text += "    round\n";
  for (const RoundAction &action : round.messages)
    write(action);
  for (const RoundAction &action : round.locals)
    write(action);
}

std::string exchange::toPointToPoint(const Collective &collective,
                                     const Schedule &schedule,
                                     const Program &program,
                                     const std::vector<std::string> &head,
                                     PointToPointForm form) {
  const SourceForm &source = formOf(form);
  ExchangeRounds rounds = toRounds(collective, schedule, program);
  std::string text;
  for (const std::string &line : head)
    text += std::string(source.comment) + " " + escapeControls(line) + "\n";
  text += source.code();
  text += source.chunks;
  text += std::to_string(rounds.chunksPerSegment);
  text += source.open;
  LineWriter writer(text);
  for (uint32_t rank = 0; rank < rounds.ranks.size(); ++rank) {
    text += source.openRank;
    text += "rank " + std::to_string(rank) + " has";
    uint32_t perSegment = collective.chunksPerSegment();
    for (uint32_t count :
         {collective.inputSlots(rank) / perSegment,
          collective.outputSlots(rank) / perSegment, rounds.scratch[rank]})
      text += " " + std::to_string(count);
    text += "\n";
    for (const ExchangeRound &round : rounds.ranks[rank])
      writer.write(round, &round == &rounds.ranks[rank].front());
    text += source.closeRank;
  }
  text += source.close;
  return text;
}
