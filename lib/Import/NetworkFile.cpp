//===- NetworkFile.cpp - A network between boxes from YAML ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Import/NetworkFile.h"

#include "Readers.h"
#include "Yaml.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

/// Fails on a field of `node` that is not among `names`.
static std::optional<Error> checkFields(const YamlNode &node,
                                        llvm::ArrayRef<StringRef> names) {
  for (size_t i = 0; i < node.names.size(); ++i)
    if (!llvm::is_contained(names, node.names[i]))
      return node.items[i].error("unknown field '" + node.names[i] +
                                 "', expected " + llvm::join(names, ", "));
  return std::nullopt;
}

/// "0-3", "0-3,6" or [0, 2]; each number below `limit`.
static Result<std::vector<unsigned>> readNumbers(const YamlNode &node,
                                                 unsigned limit) {
  std::vector<StringRef> parts;
  for (const YamlNode &item : node.items)
    parts.push_back(item.scalar);
  if (node.items.empty())
    llvm::copy(llvm::split(node.scalar, ','), std::back_inserter(parts));
  std::vector<unsigned> numbers;
  for (StringRef part : parts) {
    auto [first, last] = part.split('-');
    std::optional<unsigned> from = wholeNumber(first.trim());
    std::optional<unsigned> to =
        part.contains('-') ? wholeNumber(last.trim()) : from;
    if (!from || !to || *to < *from || *to >= limit)
      return node.error("expected numbers below " + llvm::Twine(limit) +
                        " and ranges of them, as in 0-3,6, got '" + part + "'");
    for (unsigned number = *from; number <= *to; ++number)
      numbers.push_back(number);
  }
  return numbers;
}

static std::optional<Error> readSwitch(const std::string &name,
                                       const YamlNode &node, Network &network) {
  if (std::optional<Error> error = checkFields(node, {"boxes", "nics"}))
    return error;
  NetworkSwitch read = {name};
  if (const YamlNode *boxes = node.find("boxes")) {
    Result<std::vector<unsigned>> numbers =
        readNumbers(*boxes, Machine::maxBoxes);
    if (!numbers)
      return Error{numbers.error()};
    read.boxes = std::move(*numbers);
  }
  if (const YamlNode *nics = node.find("nics")) {
    if (read.boxes.empty())
      return nics->error("nics of no boxes: 'boxes' is missing");
    Result<std::vector<unsigned>> numbers =
        readNumbers(*nics, 4 * maxGpusOfHost);
    if (!numbers)
      return Error{numbers.error()};
    read.nics = std::move(*numbers);
  }
  network.switches.push_back(std::move(read));
  return std::nullopt;
}

static std::optional<Error> readUplink(const YamlNode &node, Network &network) {
  if (std::optional<Error> error =
          checkFields(node, {"from", "to", "gbps", "count"}))
    return error;
  NetworkUplink uplink = {0, 0, 0, 1};
  for (auto [field, number] :
       {std::pair("from", &uplink.a), {"to", &uplink.b}}) {
    auto found = llvm::find_if(network.switches, [&](const NetworkSwitch &one) {
      return one.name == node.text(field);
    });
    if (found == network.switches.end())
      return node.error(StringRef(field) + ": there is no switch '" +
                        node.text(field) + "'");
    *number = unsigned(found - network.switches.begin());
  }
  if (uplink.a == uplink.b)
    return node.error("an uplink from a switch to itself");
  Result<Rational> rate = parseDecimal(node.text("gbps").str());
  if (!rate || *rate <= Rational(0) || *rate > Rational(Machine::maxQuantity))
    return node.error("expected the Gb/s of one cable, as in gbps: 400, got '" +
                      node.text("gbps") + "'");
  uplink.gigabits = *rate;
  if (const YamlNode *count = node.find("count")) {
    std::optional<unsigned> cables = wholeNumber(count->scalar);
    if (!cables || *cables == 0 || *cables > 65536)
      return count->error(
          "expected a number of cables, from 1 to 65536, got '" +
          count->scalar + "'");
    uplink.count = *cables;
  }
  network.uplinks.push_back(std::move(uplink));
  return std::nullopt;
}

Result<Network> sccl::readNetwork(const ImportFile &file) {
  Result<YamlNode> root = parseYaml(file);
  if (!root)
    return Error{root.error()};
  if (std::optional<Error> error = checkFields(*root, {"switches", "uplinks"}))
    return *error;
  const YamlNode *switches = root->find("switches");
  if (!switches || !switches->isMap())
    return root->error("expected 'switches:' with the name of each switch, as "
                       "in leaf0: {boxes: 0-3}");
  Network network = {file.path};
  for (size_t i = 0; i < switches->names.size(); ++i)
    if (std::optional<Error> error =
            readSwitch(switches->names[i], switches->items[i], network))
      return *error;
  for (const YamlNode &uplink : root->list("uplinks"))
    if (std::optional<Error> error = readUplink(uplink, network))
      return *error;
  return network;
}
