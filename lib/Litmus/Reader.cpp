//===- Reader.cpp - Litmus tests from files -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Litmus/Program.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace sccl;
using namespace sccl::litmus;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// What is left of a line. Everything that takes something returns false, and
/// remembers the first error, if it is not there.
class Line {
public:
  Line(StringRef text, unsigned number)
      : begin(text.data()), rest(text.split("//").first.rtrim()),
        number(number) {
    skipBlanks();
  }

  bool isEmpty() const { return rest.empty(); }
  const std::string &error() const { return message; }

  bool fail(const Twine &what) { return failAt(rest, what); }
  bool failAt(StringRef where, const Twine &what) {
    if (message.empty())
      message =
          (Twine(number) + ":" + Twine(where.data() - begin + 1) + ": " + what)
              .str();
    return false;
  }

  /// A word of letters, digits, "_", "." and "$".
  bool takeWord(StringRef &word, const Twine &what) {
    word = rest.take_while([](char c) {
      return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
    });
    if (word.empty())
      return fail("expected " + what);
    return drop(word.size());
  }
  bool take(StringRef symbol) {
    if (!rest.starts_with(symbol))
      return fail("expected '" + symbol + "'");
    return drop(symbol.size());
  }
  bool takeIf(StringRef symbol) {
    return rest.starts_with(symbol) && drop(symbol.size());
  }
  template <typename Number> bool takeNumber(Number &number) {
    StringRef digits =
        rest.take_while([](char c) { return llvm::isDigit(c) || c == '-'; });
    if (digits.getAsInteger(10, number))
      return fail("expected a number");
    return drop(digits.size());
  }
  bool takeQuoted(std::string &text) {
    size_t end = rest.find('"', 1);
    if (!rest.starts_with("\"") || end == StringRef::npos)
      return fail("expected a name in quotes");
    text = rest.slice(1, end).str();
    return drop(end + 1);
  }
  bool takeComparison(Comparison &comparison) {
    comparison = rest.starts_with("==")   ? Comparison::Equal
                 : rest.starts_with("!=") ? Comparison::NotEqual
                 : rest.starts_with(">=") ? Comparison::AtLeast
                                          : Comparison::Less;
    if (comparison == Comparison::Less)
      return takeIf("<") || fail("expected '==', '!=', '>=' or '<'");
    return drop(2);
  }
  bool takeEnd() { return isEmpty() || fail("expected the end of the line"); }
  /// What comes next, to point at it later.
  StringRef here() const { return rest; }

private:
  bool drop(size_t count) {
    rest = rest.drop_front(count);
    skipBlanks();
    return true;
  }
  void skipBlanks() { rest = rest.ltrim(" \t"); }

  const char *begin;
  StringRef rest;
  unsigned number;
  std::string message;
};

class Reader {
public:
  Result<std::vector<Program>> read(StringRef text) {
    for (unsigned number = 1; !text.empty(); ++number) {
      StringRef one;
      std::tie(one, text) = text.split('\n');
      Line line(one.rtrim("\r"), number);
      StringRef where = line.here();
      if (line.isEmpty())
        continue;
      if (!readLine(line, where, number))
        return Error{line.error()};
      if (!programs.empty())
        ends = number;
    }
    Line last("", ends);
    if (!finish(last, last.here()))
      return Error{last.error()};
    if (programs.empty())
      return Error{"1:1: expected 'litmus'"};
    return std::move(programs);
  }

private:
  bool readLine(Line &line, StringRef where, unsigned number) {
    StringRef word;
    if (!line.takeWord(word, "a statement"))
      return false;
    if (word == "litmus")
      return readHead(line, where, number);
    if (programs.empty())
      return line.failAt(where, "expected 'litmus'");
    if (programs.back().expected)
      return line.failAt(where, "nothing may follow 'expect'");
    if (word == "init")
      return readInitial(line, where);
    if (word == "thread")
      return readThread(line, where);
    if (word == "exists")
      return readOutcome(line);
    if (word == "expect")
      return readExpected(line);
    return readOperation(line, word);
  }

  bool readHead(Line &line, StringRef where, unsigned number) {
    if (!finish(line, where))
      return false;
    if (programs.size() == maxPrograms)
      return line.failAt(where, "a file has " + Twine(maxPrograms) +
                                    " litmus tests at most");
    programs.emplace_back();
    programs.back().line = number;
    return line.takeQuoted(programs.back().name) && line.takeEnd();
  }

  /// What the last test must have before the next begins at `where`.
  bool finish(Line &line, StringRef where) {
    if (programs.empty())
      return true;
    const Program &program = programs.back();
    if (program.threads.empty())
      return line.failAt(where, "'" + program.name + "' has no thread");
    if (program.outcomes.empty())
      return line.failAt(where, "'" + program.name + "' has no 'exists'");
    return true;
  }

  bool readInitial(Line &line, StringRef where) {
    Program &program = programs.back();
    StringRef name;
    int64_t value = 0;
    if (!program.threads.empty())
      return line.failAt(where, "'init' comes before the threads");
    if (!line.takeWord(name, "a location") || !line.take("=") ||
        !line.takeNumber(value) || !line.takeEnd())
      return false;
    program.locations[locationOf(name)].initial = value;
    return true;
  }

  bool readThread(Line &line, StringRef where) {
    Program &program = programs.back();
    Thread thread;
    StringRef name;
    if (program.threads.size() == maxThreads)
      return line.failAt(where, "a litmus test has " + Twine(maxThreads) +
                                    " threads at most");
    StringRef at = line.here();
    if (!line.takeWord(name, "the name of a thread"))
      return false;
    if (threadOf(name))
      return line.failAt(at, "there is a thread '" + name + "' already");
    thread.name = name.str();
    if (!line.take("gpu") || !line.takeNumber(thread.gpu) ||
        !line.take("block") || !line.takeNumber(thread.block))
      return false;
    program.threads.push_back(std::move(thread));
    return line.takeEnd();
  }

  bool readOperation(Line &line, StringRef opcode) {
    Program &program = programs.back();
    if (program.threads.empty())
      return line.failAt(opcode, "expected 'thread' before '" + opcode + "'");
    if (!program.outcomes.empty())
      return line.failAt(opcode, "operations come before 'exists'");
    Thread &thread = program.threads.back();
    if (++operations > maxOperations)
      return line.failAt(opcode, "there are more than " + Twine(maxOperations) +
                                     " operations");
    Operation op;
    if (opcode == "require") {
      op.kind = Kind::Require;
      if (!takeRegister(line, thread, op.reg) ||
          !line.takeComparison(op.comparison) || !line.takeNumber(op.value))
        return false;
    } else if (std::optional<Operation> known = readOpcode(opcode)) {
      op = *known;
      if (!readOperands(line, thread, op))
        return false;
    } else {
      return line.failAt(opcode, "'" + opcode + "' is not known");
    }
    thread.code.push_back(op);
    return line.takeEnd();
  }

  bool readOperands(Line &line, Thread &thread, Operation &op) {
    StringRef word;
    switch (op.kind) {
    case Kind::Load:
      if (!line.takeWord(word, "a register"))
        return false;
      op.reg = registerOf(thread, word);
      return line.take(",") && takeAddress(line, op.location);
    case Kind::Store:
      if (!takeAddress(line, op.location) || !line.take(","))
        return false;
      op.storesRegister = !line.isEmpty() && llvm::isAlpha(line.here().front());
      return op.storesRegister ? takeRegister(line, thread, op.reg)
                               : line.takeNumber(op.value);
    case Kind::Barrier:
      return line.takeNumber(op.location);
    default:
      return true;
    }
  }

  bool readOutcome(Line &line) {
    Program &program = programs.back();
    std::vector<Term> terms;
    do {
      StringRef where = line.here(), name;
      Term term;
      if (!line.takeWord(name, "a thread") || !line.take(":"))
        return false;
      std::optional<unsigned> thread = threadOf(name);
      if (!thread)
        return line.failAt(where, "there is no thread '" + name + "'");
      term.thread = *thread;
      if (!takeRegister(line, program.threads[*thread], term.reg) ||
          !line.takeComparison(term.comparison) || !line.takeNumber(term.value))
        return false;
      terms.push_back(term);
    } while (line.takeIf("and"));
    program.outcomes.push_back(std::move(terms));
    return line.takeEnd();
  }

  bool readExpected(Line &line) {
    StringRef where = line.here(), word;
    if (!line.takeWord(word, "a verdict"))
      return false;
    for (Verdict verdict : {Verdict::Never, Verdict::Sometimes, Verdict::Stuck})
      if (word == spellingOf(verdict))
        programs.back().expected = verdict;
    if (!programs.back().expected)
      return line.failAt(where, "expected 'never', 'sometimes' or 'stuck'");
    return line.takeEnd();
  }

  /// A register that some load before has written.
  bool takeRegister(Line &line, const Thread &thread, unsigned &reg) {
    StringRef where = line.here(), word;
    if (!line.takeWord(word, "a register"))
      return false;
    auto found = llvm::find(thread.registers, word);
    if (found == thread.registers.end())
      return line.failAt(where, "nothing is loaded into '" + word + "'");
    reg = found - thread.registers.begin();
    return true;
  }
  static unsigned registerOf(Thread &thread, StringRef name) {
    auto found = llvm::find(thread.registers, name);
    unsigned index = found - thread.registers.begin();
    if (found == thread.registers.end())
      thread.registers.push_back(name.str());
    return index;
  }
  bool takeAddress(Line &line, unsigned &location) {
    StringRef name;
    if (!line.take("[") || !line.takeWord(name, "a location") ||
        !line.take("]"))
      return false;
    location = locationOf(name);
    return true;
  }
  unsigned locationOf(StringRef name) {
    std::vector<Location> &locations = programs.back().locations;
    for (auto [index, location] : llvm::enumerate(locations))
      if (location.name == name)
        return index;
    locations.push_back({name.str()});
    return locations.size() - 1;
  }
  std::optional<unsigned> threadOf(StringRef name) const {
    for (auto [index, thread] : llvm::enumerate(programs.back().threads))
      if (thread.name == name)
        return index;
    return std::nullopt;
  }

  /// Of all tests of a file, so that it is read in a moment.
  static constexpr unsigned maxOperations = maxPrograms * maxEvents;
  unsigned operations = 0;
  unsigned ends = 1; ///< the last line with anything
  std::vector<Program> programs;
};
} // namespace

Result<std::vector<Program>> litmus::readLitmus(StringRef text) {
  return Reader().read(text);
}
