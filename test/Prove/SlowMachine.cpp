//===- SlowMachine.cpp - A second reader of machines ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlowMachine.h"

#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

using namespace sccl;
using namespace sccl::test;

namespace {
std::string number(double value) {
  char text[64];
  snprintf(text, sizeof(text), "%.12g", value);
  return text;
}

/// The value of "450", "26.5" or "400/8", if it is at most 10^9.
std::optional<double> parseNumber(const std::string &text) {
  static const std::regex shape(R"((\d{1,10})(\.\d{1,9})?(/\d{1,9})?)");
  std::smatch parts;
  if (!std::regex_match(text, parts, shape))
    return std::nullopt;
  double value = std::atof((parts[1].str() + parts[2].str()).c_str());
  if (parts[3].matched)
    value /= std::atof(parts[3].str().c_str() + 1);
  return value <= 1e9 ? std::optional(value) : std::nullopt;
}

/// A file, line by line.
class SlowReader {
public:
  bool read(const std::string &text) {
    std::istringstream lines(text);
    std::string line;
    unsigned depth = 0;
    while (std::getline(lines, line)) {
      line = std::regex_replace(line, std::regex("^ +| +$"), "");
      if (line.empty() || line == "module {")
        continue;
      if (line.rfind("coll.machine @", 0) == 0 && line.back() == '{')
        depth += 1;
      else if (line != "}" && (depth != 1 || !readOp(line)))
        return false;
    }
    return depth == 1;
  }
  MachineFacts facts;

private:
  bool readOp(const std::string &line) {
    return line.rfind("coll.vertex ", 0) == 0 ? readVertex(line)
                                              : readEdge(line);
  }

  bool readVertex(const std::string &line) {
    static const std::regex shape(
        R"re(coll\.vertex (gpu|switch|nic|bridge) "([^"]+)"( box = (\d{1,5}))?)re"
        R"re(( bus_id = "([^"]*)")?( chip = "([^"]*)")?( multicast)?( reduces)?)re");
    std::smatch parts;
    if (!std::regex_match(line, parts, shape))
      return false;
    bool isSwitch = parts[1] == "switch";
    if ((!parts[3].matched && !isSwitch) ||
        (parts[3].matched && std::stoul(parts[4]) >= Machine::maxBoxes) ||
        ((parts[9].matched || parts[10].matched) && !isSwitch))
      return false;
    std::string box =
        parts[3].matched ? std::to_string(std::stoul(parts[4])) : "none";
    if (!names.insert(parts[2]).second ||
        (parts[6].length() != 0 &&
         !busIds.insert(box + " " + parts[6].str()).second))
      return false;
    facts.insert(parts[1].str() + " " + parts[2].str() + " " + box + " " +
                 parts[6].str() + " " + parts[8].str() +
                 (parts[9].matched ? " multicast" : "") +
                 (parts[10].matched ? " reduces" : ""));
    return true;
  }

  bool readEdge(const std::string &line) {
    static const std::regex shape(
        R"re(coll\.edge "([^"]+)" -> "([^"]+)"( both_ways)?)re"
        R"re( bandwidth = "([^"]*)" from "([^"]*)")re"
        R"re(( latency = "([^"]*)" from "([^"]*)")?)re"
        R"re( kind = "([^"]*)"( lanes = (\d{1,9}))?)re");
    std::smatch parts;
    if (!std::regex_match(line, parts, shape))
      return false;
    std::optional<double> bandwidth = parseNumber(parts[4]);
    std::string numbers = parts[9].str();
    if (!bandwidth || *bandwidth <= 0)
      return false;
    numbers += " " + number(*bandwidth) + " " + parts[5].str();
    if (parts[6].matched) {
      std::optional<double> latency = parseNumber(parts[7]);
      if (!latency)
        return false;
      numbers += " " + number(*latency) + " " + parts[8].str();
    }
    unsigned long lanes = parts[10].matched ? std::stoul(parts[11]) : 1;
    if (lanes == 0)
      return false;
    numbers += " x" + std::to_string(lanes);
    return addEdge(parts[1], parts[2], numbers) &&
           (!parts[3].matched || addEdge(parts[2], parts[1], numbers));
  }

  bool addEdge(const std::string &src, const std::string &dst,
               const std::string &numbers) {
    if (src == dst || names.count(src) == 0 || names.count(dst) == 0 ||
        !ends.insert({src, dst}).second)
      return false;
    facts.insert(src + " -> " + dst + " " + numbers);
    return true;
  }

  std::set<std::string> names, busIds;
  std::set<std::pair<std::string, std::string>> ends;
};
} // namespace

std::optional<MachineFacts> test::readSlowly(const std::string &text) {
  SlowReader reader;
  if (!reader.read(text))
    return std::nullopt;
  return std::move(reader.facts);
}

MachineFacts test::factsOf(const Machine &machine) {
  constexpr const char *kinds[] = {"gpu", "switch", "nic", "bridge"};
  auto value = [](const Rational &exact) {
    return number(double(exact.numerator()) / double(exact.denominator()));
  };
  MachineFacts facts;
  for (const Vertex &vertex : machine.vertices())
    facts.insert(std::string(kinds[unsigned(vertex.kind)]) + " " + vertex.name +
                 " " + (vertex.box ? std::to_string(*vertex.box) : "none") +
                 " " + vertex.busId + " " + vertex.chip +
                 (vertex.multicast ? " multicast" : "") +
                 (vertex.reduces ? " reduces" : ""));
  for (const Edge &edge : machine.edges()) {
    std::string text = machine.vertices()[edge.src].name + " -> " +
                       machine.vertices()[edge.dst].name + " " + edge.kind +
                       " " + value(edge.bandwidth.value) + " " +
                       edge.bandwidth.source;
    if (edge.latency)
      text += " " + value(edge.latency->value) + " " + edge.latency->source;
    facts.insert(text + " x" + std::to_string(edge.lanes));
  }
  return facts;
}
