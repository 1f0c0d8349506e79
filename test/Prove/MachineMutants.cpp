//===- MachineMutants.cpp - Files of machines with one change -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "QuietContext.h"
#include "SlowMachine.h"

#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Import/Import.h"
#include "sccl/Machine/Derivation.h"
#include "sccl/Machine/Presets.h"

#include "mlir/Parser/Parser.h"

#include <regex>
#include <sstream>

using namespace sccl;
using namespace sccl::test;

namespace {
using Lines = std::vector<std::string>;

Lines linesOf(const std::string &text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::string join(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return text;
}

/// Something that stands in a line, and what takes its place.
struct Replacement {
  const char *name, *from, *to;
};

/// Of ops. The first match in one of the lines.
constexpr Replacement inOps[] = {
    {"vertex: gone", R"( *coll\.vertex .*)", ""},
    {"vertex: twice", R"(( *coll\.vertex .*))", "$1\n$1"},
    {"vertex: a GPU", R"(vertex (switch|nic|bridge))", "vertex gpu"},
    {"vertex: a switch", R"(vertex (gpu|nic|bridge))", "vertex switch"},
    {"vertex: no name", R"((vertex \w+) "[^"]+")", "$1 \"\""},
    {"vertex: another name", R"((vertex \w+) "[^"]+")", "$1 \"other\""},
    {"vertex: no box", R"(( *coll\.vertex .*) box = \d+)", "$1"},
    {"vertex: another box", R"( box = \d+)", " box = 3"},
    {"vertex: box below 0", R"( box = \d+)", " box = -1"},
    {"vertex: box too large", R"( box = \d+)", " box = 16384"},
    {"vertex: multicasts", R"(( *coll\.vertex .*[^s]$))", "$1 multicast"},
    {"edge: gone", R"( *coll\.edge .*)", ""},
    {"edge: twice", R"(( *coll\.edge .*))", "$1\n$1"},
    {"edge: a loop", R"(edge ("[^"]+") -> "[^"]+")", "edge $1 -> $1"},
    {"edge: turned", R"(edge ("[^"]+") -> ("[^"]+"))", "edge $2 -> $1"},
    {"edge: to nobody", R"(-> "[^"]+")", "-> \"nobody\""},
    {"edge: to another", R"(-> "[^"]+")", "-> \"gpu0.0\""},
    {"edge: one way", R"( both_ways)", ""},
    {"edge: no bandwidth", R"(bandwidth = "[^"]+")", "bandwidth = \"0\""},
    {"edge: bandwidth below 0", R"(bandwidth = ")", "bandwidth = \"-"},
    {"edge: too fast", R"(bandwidth = "[^"]+")", "bandwidth = \"1000000001\""},
    {"edge: another speed", R"(bandwidth = "[^"]+")", "bandwidth = \"100/3\""},
    {"edge: no number", R"(bandwidth = "[^"]+")", "bandwidth = \"4e2\""},
    {"edge: a latency", R"( kind = )",
     " latency = \"1.5\" from \"guess\" kind = "},
    {"edge: too late", R"( kind = )",
     " latency = \"2000000000\" from \"guess\" kind = "},
    {"edge: another kind", R"( kind = "[^"]+")", " kind = \"PCIe4\""},
    {"edge: no lane", R"( lanes = \d+)", " lanes = 0"},
    {"edge: another lane", R"( lanes = \d+)", " lanes = 3"},
    {"edge: no end", R"("$)", ""},
};

/// Of files that other tools write.
constexpr Replacement inFiles[] = {
    {"line: gone", R"(.+)", ""},
    {"line: twice", R"((.+))", "$1\n$1"},
    {"word: gone", R"( ?\w+="[^"]*"|"\w+": )", ""},
    {"text: empty", R"("[^"]*")", "\"\""},
    {"text: another", R"("[^"]*")", "\"other\""},
    {"number: 0", R"(\b\d+\b)", "0"},
    {"number: 1", R"(\b\d+\b)", "1"},
    {"number: too large", R"(\b\d+\b)", "99999999999999999999"},
    {"number: below 0", R"(\b\d+\b)", "-1"},
    {"bracket: gone", R"([<>{}\[\]])", ""},
};

/// `text` with one match replaced, drawn at random; nothing if there is none.
std::optional<std::string> apply(const Replacement &one,
                                 const std::string &text, Random &random) {
  Lines lines = linesOf(text);
  const std::regex from(one.from);
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t i = 0; i < lines.size(); ++i) {
    auto first = std::sregex_iterator(lines[i].begin(), lines[i].end(), from);
    for (auto match = first; match != std::sregex_iterator(); ++match)
      places.push_back({i, size_t(match->position())});
  }
  if (places.empty())
    return std::nullopt;
  auto [line, at] = places[random() % places.size()];
  std::string &old = lines[line];
  old = old.substr(0, at) +
        std::regex_replace(old.substr(at), from, one.to,
                           std::regex_constants::format_first_only);
  return join(lines);
}

std::string print(mlir::MLIRContext &context, const Machine &machine) {
  context.loadDialect<coll::CollDialect>();
  mlir::OpBuilder builder(&context);
  auto module = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::ModuleOp::create(builder.getUnknownLoc()));
  builder.setInsertionPointToStart(module->getBody());
  coll::exportMachine(builder, builder.getUnknownLoc(), machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

std::optional<Machine> readOps(mlir::MLIRContext &context,
                               const std::string &text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return std::nullopt;
  auto machines = module->getOps<coll::MachineOp>();
  if (std::distance(machines.begin(), machines.end()) != 1)
    return std::nullopt;
  mlir::FailureOr<Machine> machine = coll::importMachine(*machines.begin());
  return succeeded(machine) ? std::optional(std::move(*machine)) : std::nullopt;
}

/// What two readers that agree on the facts of `machine` leave to say.
Fate judgeMachine(const Machine &machine, const MachineFacts &before) {
  if (!deriveTopology(machine))
    return {Fate::Caught, "the derivation"};
  if (factsOf(machine) == before)
    return {Fate::Equivalent, "both readers: the same machine"};
  return {Fate::Equivalent, "both readers: another machine"};
}

Fate judgeOps(const std::string &text, const MachineFacts &before) {
  QuietContext quiet;
  std::optional<Machine> machine = readOps(quiet.context, text);
  std::optional<MachineFacts> slow = readSlowly(text);
  if (!machine)
    return {Fate::Caught, slow ? "the reader alone" : "the reader"};
  if (!slow)
    return {Fate::Missed, "only the slow reader refuses it"};
  if (*slow != factsOf(*machine))
    return {Fate::Missed, "the readers differ"};
  return judgeMachine(*machine, before);
}

/// Nothing if the file is refused.
std::optional<Machine> readOther(const std::string &text) {
  ImportOptions options;
  options.nicGbps = Rational(100);
  options.linkRate = Rational(25);
  Result<std::vector<Reading>> readings = readFiles({{"f", text}}, options);
  if (!readings)
    return std::nullopt;
  Result<Machine> machine = assembleMachine(std::move(*readings), options);
  return machine ? std::optional(std::move(*machine)) : std::nullopt;
}

/// What is read from the file of another tool is printed as ops, which the
/// slow reader must take, and find the same in.
Fate judgeOther(const std::string &text, const MachineFacts &before) {
  std::optional<Machine> machine = readOther(text);
  if (!machine)
    return {Fate::Caught, "the reader"};
  QuietContext quiet;
  std::string ops = print(quiet.context, *machine);
  std::optional<MachineFacts> slow = readSlowly(ops);
  if (!slow || *slow != factsOf(*machine))
    return {Fate::Missed, "the slow reader differs: " + ops};
  return judgeMachine(*machine, before);
}

constexpr const char *presets[] = {"h100", "h100:boxes=2", "mi300x", "dgx2"};

constexpr const char *ncclXml = R"(<system version="1">
  <cpu numaid="0">
    <pci busid="0000:18:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1b:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1"><nvlink target="0000:3b:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:1c:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1">
    <pci busid="0000:38:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:3b:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0"><nvlink target="0000:1b:00.0" count="4" tclass="0x030200"/></gpu>
      </pci>
    </pci>
  </cpu>
</system>
)";
constexpr const char *amdJson = R"([{"gpu": 0, "bdf": "0000:08:00.0", "links": [
   {"gpu": 0, "link_status": "ENABLED", "link_type": "SELF"},
   {"gpu": 1, "link_status": "ENABLED", "link_type": "XGMI"}]},
 {"gpu": 1, "bdf": "0000:44:00.0", "links": [
   {"gpu": 0, "link_status": "ENABLED", "link_type": "XGMI"},
   {"gpu": 1, "link_status": "ENABLED", "link_type": "SELF"}]}]
)";
} // namespace

void test::mutateMachine(const RandomCase &, Random &random,
                         KillMatrix &matrix) {
  QuietContext quiet;
  Result<Machine> machine =
      makeMachinePreset(presets[random() % std::size(presets)]);
  const std::string ops = print(quiet.context, *machine);
  for (const Replacement &one : inOps)
    if (auto text = apply(one, ops, random))
      matrix.add("machine", one.name, judgeOps(*text, factsOf(*machine)));
  const std::string file = random() % 2 ? ncclXml : amdJson;
  std::optional<Machine> read = readOther(file);
  if (!read)
    return matrix.add("file of a machine", "none",
                      {Fate::Missed, "the file itself"});
  for (const Replacement &one : inFiles)
    if (auto text = apply(one, file, random))
      matrix.add("file of a machine", one.name,
                 judgeOther(*text, factsOf(*read)));
}
