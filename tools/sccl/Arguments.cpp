//===- Arguments.cpp - What command lines have in common ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Driver.h"
#include "Overview.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <deque>
#include <vector>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;
using llvm::StringRef;

std::string
driver::findGiven(std::initializer_list<const cl::Option *> options) {
  for (const cl::Option *option : options)
    if (option->getNumOccurrences() != 0)
      return ((option->ArgStr.size() == 1 ? "-" : "--") + option->ArgStr).str();
  return "";
}

//===----------------------------------------------------------------------===//
// Errors of the parser
//===----------------------------------------------------------------------===//

/// The subcommand of the command line; null if it names none.
static cl::SubCommand *chosenCommand() {
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (*command && !command->getName().empty())
      return command;
  return nullptr;
}

/// True if `word` may be a slip of `known`: an edit for each three letters, or
/// letters in another order.
static bool isNear(StringRef word, StringRef known) {
  std::string a = word.str(), b = known.str();
  llvm::sort(a);
  llvm::sort(b);
  unsigned most = std::max<size_t>(known.size() / 3, 1);
  return a == b || word.edit_distance(known, true, most) <= most;
}

/// Of `known`, in order, the nearest to `word`; empty if none is near.
static StringRef nearest(StringRef word, llvm::ArrayRef<StringRef> known) {
  StringRef best;
  for (StringRef name : known)
    if (isNear(word, name) &&
        (best.empty() || word.edit_distance(name) < word.edit_distance(best)))
      best = name;
  return best;
}

/// The names of the options of `command` that --help lists, in order.
static std::vector<StringRef> optionNames(cl::SubCommand &command) {
  std::vector<StringRef> names;
  for (auto &&entry : cl::getRegisteredOptions(command))
    if (entry.second->getOptionHiddenFlag() != cl::ReallyHidden)
      names.push_back(entry.first);
  llvm::sort(names);
  return names;
}

/// The names of the subcommands, in order.
static std::vector<StringRef> commandNames() {
  std::vector<StringRef> names;
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (!command->getName().empty())
      names.push_back(command->getName());
  llvm::sort(names);
  return names;
}

/// The subcommands that have an option of this name, in order, by commas.
static std::string commandsWith(StringRef option) {
  std::vector<StringRef> names;
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (!command->getName().empty() &&
        llvm::is_contained(optionNames(*command), option))
      names.push_back(command->getName());
  llvm::sort(names);
  return llvm::join(names, ", ");
}

/// What can be said for an option that `command` does not have; empty if
/// nothing.
static std::string adviceFor(StringRef argument, cl::SubCommand *command) {
  StringRef name = argument.ltrim('-').split('=').first;
  if (std::string now = optionInPlaceOf(name); !now.empty())
    return "'--" + name.str() + "' is '" + now + "' now";
  if (command)
    if (StringRef near = nearest(name, optionNames(*command)); !near.empty())
      return ("did you mean '" + StringRef(near.size() == 1 ? "-" : "--") +
              near + "'?")
          .str();
  if (std::string others = commandsWith(name); !others.empty())
    return ("'--" + name + "' is an option of: " + others).str();
  return "";
}

/// The same for what is no subcommand.
static std::string adviceForCommand(StringRef word) {
  if (std::string now = commandInPlaceOf(word); !now.empty())
    return "'sccl " + word.str() + "' is '" + now + "' now";
  StringRef near = nearest(word, commandNames());
  return near.empty() ? "" : ("did you mean '" + near + "'?").str();
}

/// The text between the first two quotes of `line`; empty if there is none.
static StringRef quotedIn(StringRef line) {
  return line.split('\'').second.split('\'').first;
}

/// An error of LLVM's parser as it is to be printed. The parser names no
/// subcommand, and makes guesses however far they are from what was given.
static void printError(StringRef line, cl::SubCommand *command) {
  if (line.contains("Did you mean '"))
    return;
  std::string text = line.str(), help = "sccl ";
  if (command)
    help += command->getName().str() + " ";
  for (size_t at = 0; (at = text.find("sccl --help", at)) != text.npos;
       at += help.size())
    text.replace(at, 5, help);
  llvm::errs() << text << '\n';
  std::string advice;
  if (line.contains("Unknown command line argument '"))
    advice = adviceFor(quotedIn(line), command);
  else if (line.contains("Unknown subcommand '"))
    advice = adviceForCommand(quotedIn(line));
  if (!advice.empty())
    llvm::errs() << "sccl: " << advice << '\n';
}

bool driver::parseArguments(int argc, char **argv) {
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  bool isParsed =
      cl::ParseCommandLineOptions(argc, argv, /*Overview=*/"", &stream);
  cl::SubCommand *command = chosenCommand();
  if (!errors.empty())
    for (StringRef line : llvm::split(StringRef(errors).rtrim('\n'), '\n'))
      printError(line, command);
  return isParsed;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The bytes of a unit: "", "B", "K", "KB" (1000), "KiB" and so on; nothing if
/// there is no such unit. A small b would be a bit.
static std::optional<uint64_t> bytesOfUnit(StringRef unit) {
  if (unit.empty() || unit == "B")
    return 1;
  size_t power = StringRef("KMGTPE").find(llvm::toUpper(unit.front()));
  unit = unit.drop_front();
  if (power == StringRef::npos || (unit != "" && unit != "B" && unit != "iB"))
    return std::nullopt;
  uint64_t bytes = 1;
  for (size_t i = 0; i <= power; ++i)
    bytes *= unit == "B" ? 1000 : 1024;
  return bytes;
}

std::optional<uint64_t> driver::parseBytes(StringRef text) {
  StringRef number =
      text.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  std::optional<uint64_t> factor = bytesOfUnit(text.substr(number.size()));
  auto [whole, fraction] = number.split('.');
  constexpr size_t mostDigits = 18; // fit in 64 bits
  if (!factor || whole.empty() || fraction.size() > mostDigits ||
      (fraction.empty() && number.contains('.')))
    return std::nullopt;
  uint64_t units, parts = 0, divisor = 1;
  if (whole.getAsInteger(10, units) ||
      (!fraction.empty() && fraction.getAsInteger(10, parts)))
    return std::nullopt;
  for (size_t i = 0; i < fraction.size(); ++i)
    divisor *= 10;
  unsigned __int128 scaled = (unsigned __int128)parts * *factor;
  unsigned __int128 bytes =
      (unsigned __int128)units * *factor + scaled / divisor;
  if (scaled % divisor != 0 || bytes > UINT64_MAX)
    return std::nullopt;
  return uint64_t(bytes);
}

std::optional<uint64_t> driver::readBytes(StringRef option, StringRef text) {
  std::optional<uint64_t> bytes = parseBytes(text);
  if (!bytes)
    fail(option + " is '" + text +
         "', expected bytes as in 4100, 64KiB, 1.5MiB or 1MB");
  return bytes;
}

std::optional<std::vector<uint64_t>> driver::sizesByFour(StringRef from,
                                                         StringRef upTo) {
  std::optional<uint64_t> first = readBytes("--from", from);
  std::optional<uint64_t> last = first ? readBytes("--to", upTo) : std::nullopt;
  if (!last)
    return std::nullopt;
  if (*first == 0 || *first > *last || *last > uint64_t(1) << 60) {
    fail("--from and --to must be sizes with 0 < from <= to <= 1EiB, got " +
         from + " and " + upTo);
    return std::nullopt;
  }
  std::vector<uint64_t> sizes;
  for (uint64_t size = *first; size <= *last; size *= 4)
    sizes.push_back(size);
  return sizes;
}

llvm::StringRef driver::withDefault(StringRef description,
                                    const std::string &value) {
  static std::deque<std::string> texts;
  texts.push_back((description + " (default: " + value + ")").str());
  return texts.back();
}

bool driver::isLatency(double microseconds) {
  return microseconds >= 0 && microseconds <= 1e9;
}

bool driver::isBandwidth(double gigabytes) {
  return gigabytes >= 1e-6 && gigabytes <= 1e9;
}

std::optional<CostModel> driver::makeCostModel(double alpha, double bandwidth) {
  if (isLatency(alpha) && isBandwidth(bandwidth))
    return CostModel{alpha, 1 / (bandwidth * 1e3)};
  fail("--alpha must be from 0 to 1e9 microseconds, and --bandwidth from 1e-6 "
       "to 1e9 GB/s");
  return std::nullopt;
}

std::string driver::formatBytes(uint64_t bytes) {
  for (auto [unit, factor] : {std::pair{"TiB", uint64_t(1) << 40},
                              {"GiB", uint64_t(1) << 30},
                              {"MiB", uint64_t(1) << 20},
                              {"KiB", uint64_t(1) << 10}})
    if (bytes >= factor && bytes % factor == 0)
      return llvm::utostr(bytes / factor) + " " + unit;
  return llvm::utostr(bytes) + " bytes";
}
