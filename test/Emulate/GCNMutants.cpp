//===- GCNMutants.cpp - GCN with a mistake --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MutantKinds.h"

#include <map>
#include <regex>
#include <sstream>

using namespace sccl::test;

namespace {
bool has(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

bool isWaitedFor(const Line &line) { return has(line.next, "s_waitcnt"); }
bool isNotWaitedFor(const Line &line) { return !isWaitedFor(line); }
bool isAfterWriteBack(const Line &line) {
  return has(line.previous, "buffer_wbl2");
}

/// Mistakes about what is written back and invalidated. gfx942 has scopes.
void addCacheKinds(std::vector<Kind> &kinds) {
  const char *scoped = R"(buffer_wbl2 sc0 sc1)";
  kinds.push_back(
      {"write-back: gone",
       replaceIn("coll_signal", R"(.*buffer_wbl2.*)", "", isWaitedFor)});
  kinds.push_back({"write-back: agent scope",
                   replace(scoped, "buffer_wbl2 sc1", isWaitedFor)});
  kinds.push_back({"write-back: block scope",
                   replace(scoped, "buffer_wbl2 sc0", isWaitedFor)});
  kinds.push_back(
      {"write-back: not waited for", replaceIn("coll_signal", R"(vmcnt\(0\))",
                                               "vmcnt(1)", isAfterWriteBack)});
  kinds.push_back({"write-back: after the wait",
                   replaceIn("coll_signal", R"(buffer_wbl2)", "", isWaitedFor),
                   /*swaps=*/true});
  kinds.push_back(
      {"second write-back: gone",
       replaceIn("coll_signal", R"(.*buffer_wbl2.*)", "", isNotWaitedFor)});
  kinds.push_back(
      {"invalidate: gone", replace(R"(.*buffer_(inv |wbinvl1_vol).*)", "")});
  kinds.push_back(
      {"invalidate: agent scope",
       replace(R"(.*buffer_invl2.*|sc0 (?=sc1$))", "",
               [](const Line &line) { return has(line.text, "buffer_inv"); })});
  kinds.push_back({"invalidate: block scope",
                   replace(R"(buffer_inv sc0 sc1)", "buffer_inv sc0")});
  kinds.push_back({"invalidate: before the wait",
                   [](const Line &line) -> std::optional<std::string> {
                     bool isFirst = has(line.next, "buffer_inv") &&
                                    has(line.text, "s_waitcnt");
                     return isFirst ? std::optional<std::string>("")
                                    : std::nullopt;
                   },
                   /*swaps=*/true});
}

/// Mistakes about the order and scope of flags.
void addFlagKinds(std::vector<Kind> &kinds) {
  const char *bits = R"(( sc0 sc1| glc)$)";
  auto isFlagStore = [](const Line &line) {
    return isIn(line, "coll_signal") && has(line.text, "global_store");
  };
  auto isFlagLoad = [](const Line &line) {
    return isIn(line, "coll_wait") && !line.isOfAbortWord &&
           has(line.text, "global_load");
  };
  kinds.push_back({"release: weak", replace(bits, "", isFlagStore)});
  kinds.push_back(
      {"release: agent scope", replace(" sc0 sc1$", " sc1", isFlagStore)});
  kinds.push_back(
      {"release: block scope", replace(" sc0 sc1$", " sc0", isFlagStore)});
  kinds.push_back({"release: gone", replace(".*", "", isFlagStore)});
  kinds.push_back({"acquire: weak", replace(bits, "", isFlagLoad)});
  kinds.push_back(
      {"acquire: agent scope", replace(" sc0 sc1$", " sc1", isFlagLoad)});
  kinds.push_back(
      {"acquire: block scope", replace(" sc0 sc1$", " sc0", isFlagLoad)});
}

void addProtocolKinds(std::vector<Kind> &kinds) {
  const char *barrier = R"(.*s_barrier.*)";
  kinds.push_back(
      {"signal: no barrier", replaceIn("coll_signal", barrier, "")});
  kinds.push_back({"wait: no barrier", replaceIn("coll_wait", barrier, "")});
  kinds.push_back({"end: no barrier", replaceIn("coll_end", barrier, "")});
  const char *poll = R"(v_cmp_ge_u64_e32 vcc, (v\[\d+:\d+\]), (v\[\d+:\d+\]))";
  kinds.push_back(
      {"wait: == for >=",
       replaceIn("coll_wait", poll, "v_cmp_eq_u64_e32 vcc, $1, $2")});
  kinds.push_back({"wait: none", replaceIn("coll_wait", poll,
                                           "v_cmp_ge_u64_e32 vcc, $1, $1")});
  const char *target = R"((v_mad_u64_u32 \S+, \S+, v6, v\d+), v\[\d+:\d+\])";
  kinds.push_back(
      {"wait: for an earlier signal", replaceIn("coll_wait", target, "$1, 0")});
  kinds.push_back(
      {"signal: an earlier value", replaceIn("coll_signal", target, "$1, 0")});
  const char *line = R"((v_lshl_add_u32 v\d+, v5), 7)";
  kinds.push_back(
      {"signal: another block's", replaceIn("coll_signal", line, "$1, 8")});
  kinds.push_back(
      {"wait: another block's", replaceIn("coll_wait", line, "$1, 8")});
  kinds.push_back(
      {"begin: launch not counted",
       replaceIn("coll_begin", R"((, 0|vcc|s\[\d+:\d+\]), 1(, v\d+)?$)",
                 "$1, 0$2")});
  kinds.push_back({"begin: absent blocks left out",
                   replaceIn("coll_begin", R"(.*global_store.*)", "")});
  kinds.push_back({"end: launch not stored",
                   replaceIn("coll_end", R"(.*global_store.*)", "")});
  kinds.push_back(
      {"call of a signal gone", replace(".*", "", [](const Line &line) {
         return line.callee == "coll_signal";
       })});
  kinds.push_back(
      {"call of a wait gone", replace(".*", "", [](const Line &line) {
         return line.callee == "coll_wait";
       })});
}

void addWordKinds(std::vector<Kind> &kinds) {
  const char *bits = R"(( sc0 sc1| glc)$)";
  auto isStore = [](const Line &line) {
    return isOfWords(line) && has(line.text, "global_store");
  };
  auto isLoad = [](const Line &line) {
    return isPollOfWords(line) && has(line.text, "global_load");
  };
  kinds.push_back({"LL store: weak", replace(bits, "", isStore)});
  kinds.push_back(
      {"LL store: agent scope", replace(" sc0 sc1$", " sc1", isStore)});
  kinds.push_back({"LL load: weak", replace(bits, "", isLoad)});
  kinds.push_back(
      {"LL load: agent scope", replace(" sc0 sc1$", " sc1", isLoad)});
  kinds.push_back({"LL load: launch not compared",
                   replace(R"((v_cmp_\w+_u32_e\d+ \S+), (v\d+), v\d+$)",
                           "$1, $2, $2", [](const Line &line) {
                             return isOfWords(line) &&
                                    has(line.text, "v_cmp_ne_u32");
                           })});
  const char *word =
      R"(\tglobal_store_dwordx2 (v\[\d+:\d+\]), v\[(\d+):(\d+)\], off(.*))";
  kinds.push_back(
      {"LL store: half of the word",
       replace(word, "\tglobal_store_dword $1, v$2, off$4", isOfWords)});
  const char *wordHere =
      R"(\tglobal_store_dwordx2 (v\[\d+:\d+\]), v\[(\d+):(\d+)\], off((?: sc0 sc1)?)$)";
  kinds.push_back({"LL store: launch before data",
                   replace(wordHere,
                           "\tglobal_store_dword $1, v$3, off offset:4$4\n"
                           "\tglobal_store_dword $1, v$2, off$4",
                           isOfWords)});
}

bool isCopyOrReduction(const Line &line) {
  return isIn(line, "coll_copy") || isIn(line, "coll_reduce_elements");
}
bool isWaitForLoads(const Line &line) {
  return isCopyOrReduction(line) && !has(line.text, "expcnt") &&
         !has(line.next, "s_setpc");
}
bool calls(const Line &line, const char *function) {
  return line.callee.rfind(function, 0) == 0;
}

void addPayloadKinds(std::vector<Kind> &kinds) {
  kinds.push_back(
      {"halves: always the first",
       replace(R"((v_and_b32_e32 v\d+), 1, )", "$1, 0, ",
               [](const Line &line) { return !isIn(line, "coll_"); })});
  kinds.push_back({"copy: call gone", replace(".*", "", [](const Line &line) {
                     return calls(line, "coll_transfer") ||
                            calls(line, "coll_copy");
                   })});
  kinds.push_back({"reduce: call gone", replace(".*", "", [](const Line &line) {
                     return calls(line, "coll_reduce");
                   })});
  kinds.push_back({"load: not waited for",
                   replace(R"(.*s_waitcnt vmcnt.*)", "", isWaitForLoads)});
  kinds.push_back(
      {"load: one not waited for",
       [](const Line &line) -> std::optional<std::string> {
         static const std::regex wait(R"(\ts_waitcnt vmcnt\((\d+)\))");
         std::smatch match;
         if (!isWaitForLoads(line) || !std::regex_match(line.text, match, wait))
           return std::nullopt;
         return "\ts_waitcnt vmcnt(" + std::to_string(std::stoi(match[1]) + 1) +
                ")";
       }});
  kinds.push_back({"arguments: not waited for",
                   replace(R"(.*s_waitcnt lgkmcnt\(0\).*)", "")});
  kinds.push_back({"reduce: one operand twice",
                   replace(R"((v_(?:pk_)?add_f32(?:_e32)? \S+), (\S+), \S+$)",
                           "$1, $2, $2", isCopyOrReduction)});
  kinds.push_back({"lanes: all go on",
                   replaceIn("coll_end", R"(s_and_saveexec_b64 (\S+), \S+)",
                             "s_mov_b64 $1, exec")});
}
} // namespace

const std::vector<Kind> &sccl::test::gcnKinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> made;
    addCacheKinds(made);
    addFlagKinds(made);
    addProtocolKinds(made);
    addWordKinds(made);
    addPayloadKinds(made);
    return made;
  }();
  return all;
}

std::vector<Line> sccl::test::gcnLinesOf(const std::string &text) {
  static const std::regex label(R"((\w+):)"),
      address(R"(\ts_add_u32 (s\d+), s\d+, (\w+)@rel32@lo.*)"),
      call(R"(\ts_swappc_b64 s\[30:31\], s\[(\d+):\d+\])"),
      test(R"(\tv_cmp_eq_u64_e\d+ \S+, 0, (v\[\d+:\d+\]))"),
      load(R"(\tglobal_load_dwordx2 (v\[\d+:\d+\]), .*)");
  std::vector<Line> lines;
  std::istringstream stream(text);
  std::string function;
  std::map<std::string, std::string> addresses; ///< by register
  std::map<std::string, size_t> loads;          ///< by register, the last one
  for (std::string whole; std::getline(stream, whole);) {
    std::string line = whole.substr(0, whole.find(';'));
    line.erase(line.find_last_not_of(" \t") + 1);
    std::smatch match;
    if (std::regex_match(line, match, label) && line[0] != '.')
      function = match[1];
    if (!lines.empty())
      lines.back().next = line;
    lines.push_back({.text = line,
                     .previous = lines.empty() ? "" : lines.back().text,
                     .function = function});
    if (std::regex_match(line, match, address))
      addresses[match[1]] = match[2];
    else if (std::regex_match(line, match, call))
      lines.back().callee = addresses["s" + match[1].str()];
    else if (std::regex_match(line, match, load))
      loads[match[1]] = lines.size() - 1;
    else if (std::regex_match(line, match, test) && loads.count(match[1]))
      lines[loads[match[1]]].isOfAbortWord = true;
  }
  return lines;
}
