//===- Mutants.cpp - Assembly with a mistake ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "MutantKinds.h"

#include <regex>
#include <sstream>

using namespace sccl::test;

bool sccl::test::isIn(const Line &line, const char *function) {
  return line.function.rfind(function, 0) == 0;
}

bool sccl::test::isOfWords(const Line &line) {
  static const std::regex name(
      "coll_(copy|reduce_elements)_[mp]+(__.*)?|coll_reduce_elements_[mp]+.*");
  return std::regex_match(line.function, name);
}

bool sccl::test::isPollOfWords(const Line &line) {
  return isOfWords(line) && !line.isOfAbortWord;
}

Change sccl::test::replace(const char *from, const char *to,
                           bool (*where)(const Line &)) {
  return [pattern = std::regex(from), to,
          where](const Line &line) -> std::optional<std::string> {
    if (where && !where(line))
      return std::nullopt;
    if (!std::regex_search(line.text, pattern))
      return std::nullopt;
    return std::regex_replace(line.text, pattern, to);
  };
}

Change sccl::test::replaceIn(const char *function, const char *from,
                             const char *to, bool (*where)(const Line &)) {
  return [change = replace(from, to, where),
          function](const Line &line) -> std::optional<std::string> {
    return isIn(line, function) ? change(line) : std::nullopt;
  };
}

namespace {
/// Mistakes about the order and scope of flags.
void addFlagKinds(std::vector<Kind> &kinds) {
  const char *release = R"(st\.release\.sys)", *acquire = R"(ld\.acquire\.sys)";
  kinds.push_back({"release: relaxed", replace(release, "st.relaxed.sys")});
  kinds.push_back({"release: weak", replace(release, "st")});
  kinds.push_back({"release: gpu scope", replace(release, "st.release.gpu")});
  kinds.push_back({"release: cta scope", replace(release, "st.release.cta")});
  kinds.push_back({"release: gone", replace(R"(.*st\.release\.sys.*)", "")});
  kinds.push_back({"acquire: relaxed", replace(acquire, "ld.relaxed.sys")});
  kinds.push_back({"acquire: weak", replace(acquire, "ld")});
  kinds.push_back({"acquire: gpu scope", replace(acquire, "ld.acquire.gpu")});
  kinds.push_back({"acquire: cta scope", replace(acquire, "ld.acquire.cta")});
}

void addProtocolKinds(std::vector<Kind> &kinds) {
  const char *barrier = R"(.*bar\.sync.*)";
  kinds.push_back(
      {"signal: no barrier", replaceIn("coll_signal", barrier, "")});
  kinds.push_back({"wait: no barrier", replaceIn("coll_wait", barrier, "")});
  kinds.push_back({"end: no barrier", replaceIn("coll_end", barrier, "")});
  const char *poll = R"(setp\.lt\.u64(\s+%p\d+), (%rd\d+), (%rd\d+))";
  kinds.push_back({"wait: == for >=",
                   replaceIn("coll_wait", poll, "setp.ne.b64$1, $2, $3")});
  kinds.push_back(
      {"wait: none", replaceIn("coll_wait", poll, "setp.lt.u64$1, $3, $3")});
  const char *target = R"(mad\.lo\.s64(\s+%rd\d+, %rd\d+, %rd\d+), %rd\d+)";
  kinds.push_back({"wait: for an earlier signal",
                   replaceIn("coll_wait", target, "mul.lo.s64$1")});
  kinds.push_back({"signal: an earlier value",
                   replaceIn("coll_signal", target, "mul.lo.s64$1")});
  const char *line = R"(shl\.b32(\s+%r\d+, %r\d+), 7)";
  kinds.push_back({"signal: another block's",
                   replaceIn("coll_signal", line, "shl.b32$1, 8")});
  kinds.push_back(
      {"wait: another block's", replaceIn("coll_wait", line, "shl.b32$1, 8")});
  kinds.push_back(
      {"begin: launch not counted",
       replaceIn("coll_begin", R"(add\.s64(.*), 1;)", "add.s64$1, 0;")});
  kinds.push_back({"begin: absent blocks left out",
                   replaceIn("coll_begin", R"(.*st\.global\.b64.*)", "")});
  kinds.push_back({"end: launch not stored",
                   replaceIn("coll_end", R"(.*st\.global\.b64.*)", "")});
  kinds.push_back(
      {"call of a signal gone", replace(R"(.*call\.uni coll_signal,.*)", "")});
  kinds.push_back(
      {"call of a wait gone", replace(R"(.*call\.uni coll_wait,.*)", "")});
}

void addWordKinds(std::vector<Kind> &kinds) {
  const char *store = R"(st\.relaxed\.sys)", *load = R"(ld\.relaxed\.sys)";
  kinds.push_back({"LL store: weak", replace(store, "st", isOfWords)});
  kinds.push_back(
      {"LL store: gpu scope", replace(store, "st.relaxed.gpu", isOfWords)});
  kinds.push_back({"LL load: weak", replace(load, "ld", isPollOfWords)});
  kinds.push_back(
      {"LL load: gpu scope", replace(load, "ld.relaxed.gpu", isPollOfWords)});
  kinds.push_back({"LL load: launch not compared",
                   replace(R"(setp\.ne\.b32(\s+%p\d+), (%r\d+), (%r\d+))",
                           "setp.ne.b32$1, $2, $2", isOfWords)});
  kinds.push_back({"LL store: half of the word",
                   replace(R"(or\.b64(\s+%rd\d+), (%rd\d+), %rd\d+)",
                           "mov.b64$1, $2", isOfWords)});
}

void addPayloadKinds(std::vector<Kind> &kinds) {
  kinds.push_back({"halves: always the first",
                   replaceIn("", R"(and\.b(\d+)(\s+%rd?\d+, %rd?\d+), 1;)",
                             "and.b$1$2, 0;")});
  kinds.push_back({"copy: call gone",
                   replace(R"(.*call\.uni coll_(transfer|copy)\w*,.*)", "")});
  kinds.push_back(
      {"reduce: call gone", replace(R"(.*call\.uni coll_reduce\w*,.*)", "")});
  kinds.push_back(
      {"transfer: a short chunk whole",
       replaceIn("coll_", R"(min\.s64(\s+%rd\d+), %rd\d+, (%rd\d+))",
                 "mov.b64$1, $2")});
  kinds.push_back({"reduce: one operand twice",
                   replace(R"(add\.rn\.f32(\s+%r\d+), (%r\d+), %r\d+)",
                           "add.rn.f32$1, $2, $2")});
}

const std::vector<Kind> &kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> made;
    addFlagKinds(made);
    addProtocolKinds(made);
    addWordKinds(made);
    addPayloadKinds(made);
    return made;
  }();
  return all;
}

std::vector<Line> linesOf(const std::string &text) {
  static const std::regex header(
      R"(.*\.(?:func|entry)\s+(?:\(.*\)\s*)?(\w+)\()"),
      test(R"(\s*setp\.eq\.b64.*, 0;)");
  std::vector<Line> lines;
  std::istringstream stream(text);
  std::string function;
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (std::regex_match(line, match, header))
      function = match[1];
    if (!lines.empty()) {
      lines.back().next = line;
      lines.back().isOfAbortWord = std::regex_match(line, test);
    }
    lines.push_back({.text = line, .function = function});
  }
  return lines;
}

std::string join(const std::vector<Line> &lines, size_t changed,
                 const std::string &with, bool swaps) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i)
    if (i == changed && swaps)
      text += lines[i + 1].text + "\n" + lines[i].text + "\n", ++i;
    else
      text += (i == changed ? with : lines[i].text) + "\n";
  return text;
}

bool isGCN(const std::string &text) {
  return text.find(".amdgcn_target") != std::string::npos;
}

std::vector<std::string> namesOf(const std::vector<Kind> &kinds) {
  std::vector<std::string> names;
  for (const Kind &kind : kinds)
    names.push_back(kind.name);
  return names;
}
} // namespace

std::vector<Mutant> sccl::test::mutantsOf(const std::string &text) {
  std::vector<Line> lines = isGCN(text) ? gcnLinesOf(text) : linesOf(text);
  std::vector<Mutant> mutants;
  for (const Kind &kind : isGCN(text) ? gcnKinds() : kinds())
    for (size_t i = 0; i < lines.size(); ++i)
      if (std::optional<std::string> changed = kind.change(lines[i]))
        mutants.push_back({kind.name, unsigned(i + 1), lines[i].text, *changed,
                           join(lines, i, *changed, kind.swaps)});
  return mutants;
}

std::vector<std::string> sccl::test::mutantKinds() { return namesOf(kinds()); }

std::vector<std::string> sccl::test::gcnMutantKinds() {
  return namesOf(gcnKinds());
}
