//===- Assembly.cpp - Functions in assembly text --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

namespace {
/// Collects one function; branches are resolved at its end, when all labels
/// are known.
class FunctionBuilder {
public:
  void begin(StringRef name, bool isKernel, unsigned line, StringRef text) {
    *this = FunctionBuilder();
    function.name = name.str();
    function.isKernel = isKernel;
    function.line = line;
    function.text = text;
  }
  void label(StringRef name) { labels[name] = function.code.size(); }
  void add(Instruction instruction) {
    function.isKernel |= instruction.opcode == "s_endpgm";
    function.code.push_back(instruction);
  }

  /// `target` gives the label an instruction may jump to, if it is a branch,
  /// and "*" if it may go to any label.
  Function end(llvm::function_ref<StringRef(const Instruction &)> target,
               llvm::function_ref<bool(const Instruction &)> fallsThrough) {
    for (auto [index, instruction] : llvm::enumerate(function.code)) {
      StringRef name = target(instruction);
      if (name == "*")
        for (unsigned place : sortedLabels())
          link(instruction, place);
      else if (auto place = labels.find(name); place != labels.end())
        link(instruction, place->second);
      if (fallsThrough(instruction))
        link(instruction, index + 1);
    }
    return std::move(function);
  }

private:
  void link(Instruction &instruction, unsigned place) {
    if (place < function.code.size())
      instruction.next.push_back(place);
  }
  llvm::SmallVector<unsigned> sortedLabels() const {
    llvm::SmallVector<unsigned> places;
    for (const auto &entry : labels)
      places.push_back(entry.second);
    llvm::sort(places);
    return places;
  }

  Function function;
  llvm::StringMap<unsigned> labels;
};

/// Splits at the first white space.
std::pair<StringRef, StringRef> splitOpcode(StringRef statement) {
  size_t space = statement.find_first_of(" \t\n");
  return {statement.substr(0, space),
          space == StringRef::npos ? "" : statement.substr(space).trim()};
}

/// Takes "NAME:" off the front of `statement` and returns the name, or nothing.
StringRef takeLabel(StringRef &statement) {
  StringRef name = statement.take_while(
      [](char c) { return llvm::isAlnum(c) || llvm::is_contained("_.$", c); });
  StringRef rest = statement.drop_front(name.size());
  // PTX has names with "::" in them.
  if (name.empty() || !rest.consume_front(":") || rest.starts_with(":"))
    return "";
  statement = rest.ltrim();
  return name;
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// A statement of PTX ends with a semicolon and may have several lines; a brace
/// that groups statements has a line of its own.
class PTXParser {
public:
  Text parse(StringRef text) {
    unsigned number = 0;
    while (!text.empty()) {
      StringRef line;
      std::tie(line, text) = text.split('\n');
      ++number;
      line = line.split("//").first.trim();
      if (line.empty())
        continue;
      if (depth == 0)
        outside(line, number);
      else
        inside(line, number);
    }
    bool isWhole = depth == 0 && header.empty();
    return {std::move(functions), isWhole ? 0 : number};
  }

private:
  /// Header lines up to the brace that opens a body.
  void outside(StringRef line, unsigned number) {
    if (line == "{") {
      bool isKernel = StringRef(header).contains(".entry");
      builder.begin(nameIn(header), isKernel, headerLine, headerText);
      depth = 1;
      header.clear();
      return;
    }
    if (header.empty()) {
      headerLine = number;
      headerText = line;
    }
    header += line.str() + " ";
    bool isDirective = !line.contains(".func") && !line.contains(".entry");
    if (line.ends_with(";") ||
        (header.size() == line.size() + 1 && isDirective))
      header.clear();
  }

  /// The name in ".func (.param .b64 result) NAME(...".
  static StringRef nameIn(StringRef header) {
    for (StringRef keyword : {".entry", ".func"}) {
      size_t at = header.find(keyword);
      if (at == StringRef::npos)
        continue;
      StringRef rest = header.drop_front(at + keyword.size()).ltrim();
      if (rest.starts_with("("))
        rest = rest.split(')').second.ltrim();
      return rest.take_until([](char c) { return c == '(' || c == ' '; });
    }
    return "";
  }

  void inside(StringRef line, unsigned number) {
    if (pendingBegin == nullptr && line == "{") {
      ++depth;
      return;
    }
    if (pendingBegin == nullptr && line == "}") {
      if (--depth == 0)
        functions.push_back(builder.end(jumpTarget, fallsThrough));
      return;
    }
    if (pendingBegin == nullptr) {
      if (StringRef name = takeLabel(line); !name.empty())
        builder.label(name);
      if (line.empty())
        return;
      pendingBegin = line.data();
      pendingLine = number;
    }
    bool isGroup = line.starts_with("{") && line.ends_with("}");
    if (!line.ends_with(";") && !isGroup)
      return;
    // Statements that share a line share its number.
    StringRef rest(pendingBegin, line.end() - pendingBegin);
    pendingBegin = nullptr;
    while (!rest.empty()) {
      StringRef one;
      std::tie(one, rest) = rest.split(';');
      statement(one.trim());
    }
  }

  void statement(StringRef text) {
    text = text.ltrim("{} \t"); // of a group on one line
    if (text.empty() || text.starts_with("."))
      return;
    Instruction instruction;
    instruction.line = pendingLine;
    instruction.text = text.split('\n').first;
    instruction.predicated = text.starts_with("@");
    if (instruction.predicated)
      text = splitOpcode(text).second;
    std::tie(instruction.opcode, instruction.operands) = splitOpcode(text);
    instruction.isReturn = leaves(instruction.opcode);
    builder.add(instruction);
  }

  static bool leaves(StringRef opcode) {
    return opcode.starts_with("ret") || opcode == "exit";
  }
  static StringRef jumpTarget(const Instruction &instruction) {
    if (instruction.opcode.starts_with("brx"))
      return "*";
    return instruction.opcode.starts_with("bra") ? instruction.operands : "";
  }
  static bool fallsThrough(const Instruction &instruction) {
    return instruction.predicated ||
           !(instruction.isReturn || instruction.opcode == "trap" ||
             !jumpTarget(instruction).empty());
  }

  std::vector<Function> functions;
  FunctionBuilder builder;
  unsigned depth = 0;
  std::string header;
  unsigned headerLine = 0;
  StringRef headerText;
  const char *pendingBegin = nullptr;
  unsigned pendingLine = 0;
};
} // namespace

Text assembly::parsePTX(StringRef text) { return PTXParser().parse(text); }

//===----------------------------------------------------------------------===//
// GCN
//===----------------------------------------------------------------------===//

static StringRef gcnJumpTarget(const Instruction &instruction) {
  bool isBranch = instruction.opcode == "s_branch" ||
                  instruction.opcode.starts_with("s_cbranch");
  return isBranch ? instruction.operands : "";
}

static bool gcnFallsThrough(const Instruction &instruction) {
  return !instruction.isReturn && instruction.opcode != "s_branch";
}

Text assembly::parseGCN(StringRef text) {
  Text result;
  FunctionBuilder builder;
  llvm::StringSet<> names;
  bool inFunction = false, isWhole = false;
  unsigned number = 0;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    ++number;
    line = line.split(';').first.split("//").first.trim();
    if (line.consume_front(".type")) {
      auto [name, kind] = line.trim().split(',');
      if (kind.trim() == "@function")
        names.insert(name);
      continue;
    }
    isWhole |= line == ".end_amdgpu_metadata"; // the last that LLVM writes
    StringRef whole = line;
    if (StringRef name = takeLabel(line); !name.empty()) {
      if (name.starts_with(".Lfunc_end") && inFunction) {
        result.functions.push_back(builder.end(gcnJumpTarget, gcnFallsThrough));
        inFunction = false;
      } else if (names.contains(name)) {
        builder.begin(name, /*isKernel=*/false, number, whole);
        inFunction = true;
      } else {
        builder.label(name);
      }
    }
    if (!inFunction || line.empty() || line.starts_with("."))
      continue;
    Instruction instruction;
    instruction.line = number;
    instruction.text = line;
    std::tie(instruction.opcode, instruction.operands) = splitOpcode(line);
    instruction.isReturn =
        instruction.opcode == "s_endpgm" || instruction.opcode == "s_setpc_b64";
    builder.add(instruction);
  }
  result.cutOffLine = isWhole && !inFunction ? 0 : number;
  return result;
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

const Instruction *assembly::findPath(const Function &function,
                                      llvm::ArrayRef<unsigned> starts,
                                      Condition stop, Condition goal) {
  llvm::BitVector seen(function.code.size());
  llvm::SmallVector<unsigned> work(starts);
  while (!work.empty()) {
    unsigned index = work.pop_back_val();
    if (index >= seen.size() || seen.test(index))
      continue;
    seen.set(index);
    const Instruction &instruction = function.code[index];
    if (stop(instruction))
      continue;
    if (goal(instruction))
      return &instruction;
    work.append(instruction.next.begin(), instruction.next.end());
  }
  return nullptr;
}
