//===- Log.cpp - Printing what a component does ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Options/Log.h"

#include "sccl/Options/LoweringOptions.h"

#include <set>

using namespace sccl;

/// All logs of the process; several may belong to one component.
static std::vector<Log *> &allLogs() {
  static std::vector<Log *> logs;
  return logs;
}

/// "all, a, b".
static const std::string &componentNames() {
  static const std::string names = [] {
    std::set<std::string_view> sorted;
    for (const Log *log : allLogs())
      sorted.insert(log->component());
    std::string text = "all";
    for (std::string_view name : sorted)
      text.append(", ").append(name);
    return text;
  }();
  return names;
}

Log::Log(std::string_view component) : name(component) {
  allLogs().push_back(this);
}

llvm::raw_ostream &Log::line() const {
  return llvm::errs() << '[' << name << "] ";
}

namespace sccl {
/// A value of --log.
struct LogChoice {
  std::string component;
};

static std::optional<std::string> readOption(llvm::StringRef text,
                                             LogChoice &value) {
  bool isKnown = false;
  for (Log *log : allLogs())
    if (text == "all" || text == llvm::StringRef(log->component())) {
      log->turnOn();
      isKnown = true;
    }
  if (!isKnown)
    return "unknown component '" + text.str() +
           "', expected one of: " + componentNames();
  value.component = text.str();
  return std::nullopt;
}
} // namespace sccl

namespace llvm::cl {
template <> class parser<LogChoice> : public WordParser<LogChoice> {
  using WordParser::WordParser;
};
} // namespace llvm::cl

void sccl::registerLogOption() {
  namespace cl = llvm::cl;
  static const std::string help =
      "Print what components do: " + componentNames();
  static cl::list<LogChoice> option(
      "log", cl::desc(help), cl::value_desc("COMPONENT"), cl::CommaSeparated,
      cl::sub(cl::SubCommand::getAll()));
}
