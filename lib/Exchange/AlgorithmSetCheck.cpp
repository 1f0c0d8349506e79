//===- AlgorithmSetCheck.cpp - Whether a set is right ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/AlgorithmSet.h"
#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/Mscclpp.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// What a file says of itself.
struct FileFacts {
  std::string name;
  CollectiveKind kind;
  size_t ranks;
  uint64_t least, most, multiple;
  bool inPlace, outOfPlace;
};

/// Some sizes of calls, and who is for them.
struct Range {
  Place place;
  uint64_t least, most;
  std::string what; ///< as "plans/all_reduce_1.json"
};

class SetChecker {
public:
  SetChecker(const AlgorithmSet &set,
             const std::map<std::string, std::string> &texts,
             Findings &findings)
      : set(set), texts(texts), findings(findings) {}
  void check();

private:
  void checkFile(const SetFile &file);
  std::optional<FileFacts> factsOf(const SetFile &file,
                                   std::string_view text) const;
  void compare(const SetFile &file, const FileFacts &facts);
  void checkReach(const SetFile &file, const MscclppPlan &plan) const;
  void checkRanges(bool inPlace);
  void findStrangers();

  const AlgorithmSet &set;
  const std::map<std::string, std::string> &texts;
  Findings &findings;
};
} // namespace

/// Memory is reached within a box only.
void SetChecker::checkReach(const SetFile &file,
                            const MscclppPlan &plan) const {
  for (size_t rank = 0; rank < plan.gpus.size(); ++rank)
    for (uint32_t peer : plan.gpus[rank].peers.memory)
      if (peer / set.ranksPerBox != rank / set.ranksPerBox)
        return findings.add(
            file.place, file.path + ": rank " + std::to_string(rank) +
                            " reaches the memory of rank " +
                            std::to_string(peer) + ", which is in another box");
}

std::optional<FileFacts> SetChecker::factsOf(const SetFile &file,
                                             std::string_view text) const {
  Findings own;
  std::optional<FileFacts> facts;
  if (set.executor == SetExecutor::Mscclpp) {
    auto plan = parseMscclpp(text, own);
    auto verdict = plan ? checkMscclpp(*plan, {}, own) : std::nullopt;
    if (verdict) {
      checkReach(file, *plan);
      facts = {plan->name,     verdict->kind,  plan->gpus.size(),
               plan->minBytes, plan->maxBytes, verdict->bytesMultiple,
               plan->inPlace,  !plan->inPlace};
      if (verdict->mostBytes < plan->maxBytes)
        findings.add(file.place, file.path + " can address no more than " +
                                     std::to_string(verdict->mostBytes) +
                                     " bytes");
    }
  } else {
    MscclCheckOptions options;
    options.dialect = set.executor == SetExecutor::Nccl ? MscclDialect::Nccl
                                                        : MscclDialect::Rccl;
    auto algorithm = parseMsccl(text, own);
    auto verdict =
        algorithm ? checkMsccl(*algorithm, options, own) : std::nullopt;
    if (verdict)
      facts = {algorithm->name,
               verdict->kind,
               algorithm->gpus.size(),
               algorithm->minBytes.value_or(0),
               algorithm->maxBytes.value_or(0),
               verdict->countMultiple,
               verdict->inPlace,
               verdict->outOfPlace};
  }
  for (const Finding &finding : own.first())
    findings.add(file.place, file.path + ":" + finding.place.str() + ": " +
                                 finding.message);
  return facts;
}

/// Says where a file is not what the set says of it, or serves nothing.
void SetChecker::compare(const SetFile &file, const FileFacts &facts) {
  auto differ = [&](const char *what, std::string own, std::string said) {
    if (own != said)
      findings.add(file.place, file.path + " is for " + what + " " + own +
                                   ", and " + std::string(setManifest) +
                                   " says " + said);
  };
  auto number = [](uint64_t value) { return std::to_string(value); };
  auto place = [](bool inPlace, bool outOfPlace) {
    return std::string(inPlace && outOfPlace ? "both"
                       : inPlace             ? "in place"
                       : outOfPlace          ? "out of place"
                                             : "none");
  };
  uint64_t unit = facts.multiple * (set.isShared() ? set.ranks : 1);
  if (facts.most / unit * unit < facts.least)
    findings.add(file.place, file.path + " is for multiples of " +
                                 number(unit) + ", and there is none from " +
                                 number(facts.least) + " to " +
                                 number(facts.most));
  differ("the name", facts.name, file.name);
  differ("the collective", std::string(collectiveName(facts.kind)),
         std::string(collectiveName(set.kind)));
  differ("ranks", number(facts.ranks), number(set.ranks));
  differ("bytes from", number(facts.least), number(file.least));
  differ("bytes up to", number(facts.most), number(file.most));
  differ("counts that are multiples of", number(facts.multiple),
         number(file.multiple));
  differ("calls", place(facts.inPlace, facts.outOfPlace),
         place(file.inPlace, file.outOfPlace));
}

void SetChecker::checkFile(const SetFile &file) {
  auto text = texts.find(file.path);
  if (text == texts.end())
    return findings.add(file.place, "there is no " + file.path);
  if (std::string hash = hashOfText(text->second); hash != file.hash)
    return findings.add(file.place, file.path + " has the hash " + hash +
                                        ", and not " + file.hash +
                                        ": it has been changed or exchanged");
  if (auto facts = factsOf(file, text->second))
    compare(file, *facts);
}

/// Each size once: by a file, or by a reason.
void SetChecker::checkRanges(bool inPlace) {
  std::vector<Range> ranges;
  for (const SetFile &file : set.files)
    if (inPlace ? file.inPlace : file.outOfPlace)
      ranges.push_back({file.place, file.least, file.most, file.path});
  for (const SetGap &gap : set.gaps)
    if (gap.inPlace == inPlace)
      ranges.push_back({gap.place, gap.least, gap.most,
                        "the reason \"" + gap.reason + "\""});
  std::ranges::stable_sort(ranges, {}, &Range::least);
  ranges.push_back({{}, set.most + 1, set.most + 1, "the end"});
  std::string calls = inPlace ? "calls in place" : "calls out of place";
  uint64_t next = set.least;
  std::string last = "the beginning";
  for (const Range &range : ranges) {
    if (range.least > range.most)
      findings.add(range.place, range.what + " is for no size");
    else if (range.least > next)
      findings.add(range.place, calls + " from " + std::to_string(next) +
                                    " to " + std::to_string(range.least - 1) +
                                    " bytes have no file and no reason");
    else if (range.least < next)
      findings.add(range.place, calls + " of " + std::to_string(range.least) +
                                    " bytes have two: " + last + " and " +
                                    range.what);
    next = std::max(next, range.most + 1);
    last = range.what;
  }
}

/// MSCCL loads all files of the folder.
void SetChecker::findStrangers() {
  std::string folder = std::string(set.folder()) + "/";
  for (const auto &[path, text] : texts)
    if (path.starts_with(folder) &&
        std::ranges::find(set.files, path, &SetFile::path) == set.files.end())
      findings.add({}, path + " is not of this set, and would be loaded");
  auto loader = texts.find(std::string(set.loader()));
  if (loader == texts.end())
    findings.add({}, "there is no " + std::string(set.loader()));
  else if (loader->second != loaderText(set))
    findings.add({}, loader->first + " is not that of this set");
}

void SetChecker::check() {
  if (set.ranks % set.ranksPerBox != 0)
    findings.add({}, std::to_string(set.ranks) + " ranks are not in boxes of " +
                         std::to_string(set.ranksPerBox));
  for (const SetFile &file : set.files)
    checkFile(file);
  for (bool inPlace : {false, true})
    checkRanges(inPlace);
  findStrangers();
}

bool exchange::checkSet(const AlgorithmSet &set,
                        const std::map<std::string, std::string> &texts,
                        Findings &findings) {
  SetChecker(set, texts, findings).check();
  return findings.empty();
}
