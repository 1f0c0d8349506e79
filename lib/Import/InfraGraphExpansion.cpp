//===- InfraGraphExpansion.cpp - Devices, instances and edges -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two generations are read: edges between slices with a scheme, and before, the
// words of a connection joined by points: xpu.0.nvlink.nvlsw.1.
//
//===----------------------------------------------------------------------===//

#include "InfraGraph.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// A name with a range: "xpu[0:4]", "xpu[2]", "xpu".
struct Slice {
  std::string name;
  std::optional<unsigned> begin, end;
};

struct LinkInfo {
  std::string about;
  WireRate rate;
};

class Expander {
public:
  explicit Expander(const std::vector<YamlNode> &files) : files(files) {}
  Result<Graph> run();

private:
  std::optional<Error> collect(const YamlNode &node, bool isTop);
  std::optional<Error> collectLinks(const YamlNode &owner);
  std::optional<Error> expandDevice(const YamlNode &device,
                                    const std::string &instance,
                                    const std::string &prefix, unsigned depth);
  std::optional<Error> expandComponent(const YamlNode &component,
                                       unsigned implied,
                                       const std::string &instance,
                                       const std::string &prefix,
                                       unsigned depth);
  std::optional<Error> expandNested(const YamlNode &component,
                                    const std::string &full,
                                    const std::string &instance,
                                    const std::string &prefix, unsigned depth);
  unsigned impliedCount(const YamlNode &device, StringRef component) const;
  std::optional<Error> expandInstances();
  std::optional<Error> addEdges(const YamlNode &owner,
                                const std::string &prefix);
  std::optional<Error> addEdge(const YamlNode &edge, const std::string &prefix);
  std::optional<Error> addConnection(const YamlNode &connection,
                                     const std::string &prefix);
  Result<std::vector<unsigned>> endpoint(const YamlNode &end,
                                         const std::string &prefix);
  std::vector<std::string> matching(const std::string &prefix,
                                    const Slice &slice) const;
  std::optional<Error> join(const YamlNode &at, unsigned a, unsigned b,
                            StringRef link);

  const std::vector<YamlNode> &files;
  std::map<std::string, const YamlNode *> devices;
  std::vector<const YamlNode *> tops, instances;
  std::map<std::string, LinkInfo> links;
  std::map<std::string, unsigned> nodeOf;
  /// How many there are of "host.0.xpu", by that.
  std::map<std::string, unsigned> countOf;
  Graph graph;
};
} // namespace

static constexpr unsigned maxNodes = 1u << 18, maxGraphEdges = 1u << 20;

static Result<Slice> parseSlice(const YamlNode &node) {
  StringRef text = node.scalar;
  auto [name, range] = text.split('[');
  Slice slice = {name.trim().str(), std::nullopt, std::nullopt};
  if (range.empty())
    return slice;
  auto [first, rest] = range.split(']').first.split(':');
  slice.begin = wholeNumber(first.trim());
  if (range.contains(':'))
    slice.end = wholeNumber(rest.trim());
  else if (slice.begin)
    slice.end = *slice.begin + 1;
  bool isBad = (!first.trim().empty() && !slice.begin) ||
               (!rest.trim().empty() && !slice.end) || !range.ends_with("]");
  if (isBad)
    return node.error("'" + text + "' is no range such as xpu[0:4]");
  return slice;
}

/// What a "bandwidth" field says: a choice with its number.
static Result<WireRate> bandwidthOf(const YamlNode &link) {
  const YamlNode *bandwidth = link.find("bandwidth");
  if (const YamlNode *physical = link.find("physical"); !bandwidth && physical)
    bandwidth = physical->find("bandwidth");
  if (!bandwidth)
    return WireRate();
  for (auto [unit, divisor] : {std::pair("gigabytes_per_second", 1),
                               {"giga_bytes_per_second", 1},
                               {"gigabits_per_second", 8},
                               {"giga_bits_per_second", 8},
                               {"gigatransfers_per_second", 0},
                               {"giga_transfers_per_second", 0}}) {
    const YamlNode *value = bandwidth->find(unit);
    if (!value)
      continue;
    Result<Rational> number = parseDecimal(value->scalar);
    if (!number || *number <= Rational(0))
      return value->error("'" + value->scalar + "' is no positive number");
    return divisor ? WireRate{quotient(*number, divisor), std::nullopt}
                   : WireRate{std::nullopt, *number};
  }
  return bandwidth->error("a bandwidth without gigabytes_per_second or "
                          "gigabits_per_second");
}

std::optional<Error> Expander::collectLinks(const YamlNode &owner) {
  for (const YamlNode &link : owner.list("links")) {
    Result<WireRate> bandwidth = bandwidthOf(link);
    if (!bandwidth)
      return Error{bandwidth.error()};
    LinkInfo &info = links[link.text("name").str()];
    info.about = link.text("description").str();
    if (bandwidth->gigabytes || bandwidth->transfers)
      info.rate = *bandwidth;
  }
  return std::nullopt;
}

std::optional<Error> Expander::collect(const YamlNode &node, bool isTop) {
  const YamlNode *inner = node.find("infrastructure");
  const YamlNode &top = isTop && inner ? *inner : node;
  if (top.find("components") && !top.text("name").empty())
    devices[top.text("name").str()] = &top;
  else
    tops.push_back(&top);
  for (StringRef key : {"devices", "device"})
    for (const YamlNode &device : top.list(key)) {
      if (device.text("name").empty())
        return device.error("a device without a name");
      devices[device.text("name").str()] = &device;
    }
  for (const YamlNode &instance : top.list("instances"))
    instances.push_back(&instance);
  return collectLinks(top);
}

/// Before components had counts, connections told how many there were.
unsigned Expander::impliedCount(const YamlNode &device,
                                StringRef component) const {
  unsigned count = 0;
  for (const YamlNode &connection : device.list("connections")) {
    llvm::SmallVector<StringRef> words;
    StringRef(connection.scalar).split(words, '.');
    for (size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == component)
        if (std::optional<unsigned> index = wholeNumber(words[i + 1]))
          count = std::max(count, std::min(*index, maxNodes) + 1);
  }
  return count ? count : 1;
}

std::optional<Error> Expander::expandComponent(const YamlNode &component,
                                               unsigned implied,
                                               const std::string &instance,
                                               const std::string &prefix,
                                               unsigned depth) {
  StringRef name = component.text("name");
  StringRef kind = component.text("choice");
  if (kind.empty())
    kind = component.text("type");
  unsigned count = implied;
  if (const YamlNode *said = component.find("count")) {
    std::optional<unsigned> number = wholeNumber(said->scalar);
    if (!number)
      return said->error("'" + said->scalar + "' is no count");
    count = *number;
  }
  if (count > maxNodes || graph.nodes.size() + count > maxNodes)
    return component.error("more than " + llvm::Twine(maxNodes) +
                           " components in all");
  countOf[prefix + name.str()] = count;
  for (unsigned i = 0; i < count; ++i) {
    std::string full = prefix + name.str() + "." + std::to_string(i);
    auto nested = devices.find(name.str());
    if (kind == "device" && nested != devices.end()) {
      if (std::optional<Error> error =
              expandDevice(*nested->second, instance, full + ".", depth + 1))
        return error;
      continue;
    }
    if (!component.list("components").empty()) {
      if (std::optional<Error> error =
              expandNested(component, full, instance, prefix, depth + 1))
        return error;
      continue;
    }
    nodeOf[full] = graph.nodes.size();
    graph.nodes.push_back({full, kind.str(), instance});
  }
  return std::nullopt;
}

/// The components of a component, `full`. They are numbered within it, and by
/// connections within the device, too; what is joined to it is joined to its
/// accelerator, or else to its first component.
std::optional<Error> Expander::expandNested(const YamlNode &component,
                                            const std::string &full,
                                            const std::string &instance,
                                            const std::string &prefix,
                                            unsigned depth) {
  if (depth > 8)
    return component.error("components within components, more than 8 deep");
  size_t first = graph.nodes.size();
  for (const YamlNode &inner : component.list("components")) {
    if (std::optional<Error> error =
            expandComponent(inner, 1, instance, full + ".", depth))
      return error;
    std::string name = inner.text("name").str();
    unsigned &next = countOf[prefix + name];
    for (unsigned i = 0; i < countOf[full + "." + name]; ++i, ++next)
      if (auto node = nodeOf.find(full + "." + name + "." + std::to_string(i));
          node != nodeOf.end())
        nodeOf[prefix + name + "." + std::to_string(next)] = node->second;
  }
  if (first == graph.nodes.size())
    return component.error("its components are none");
  auto main = std::find_if(
      graph.nodes.begin() + ptrdiff_t(first), graph.nodes.end(),
      [](const GraphNode &node) { return isAccelerator(node.kind); });
  nodeOf[full] = main == graph.nodes.end()
                     ? unsigned(first)
                     : unsigned(main - graph.nodes.begin());
  return std::nullopt;
}

std::optional<Error> Expander::expandDevice(const YamlNode &device,
                                            const std::string &instance,
                                            const std::string &prefix,
                                            unsigned depth) {
  if (depth > 8)
    return device.error("devices within devices, more than 8 deep");
  if (std::optional<Error> error = collectLinks(device))
    return error;
  for (const YamlNode &component : device.list("components"))
    if (std::optional<Error> error = expandComponent(
            component, impliedCount(device, component.text("name")), instance,
            prefix, depth))
      return error;
  return addEdges(device, prefix);
}

/// Names of what a slice means below a prefix.
std::vector<std::string> Expander::matching(const std::string &prefix,
                                            const Slice &slice) const {
  auto count = countOf.find(prefix + slice.name);
  if (count == countOf.end())
    return {};
  std::vector<std::string> names;
  unsigned end = std::min(slice.end.value_or(count->second), count->second);
  for (unsigned i = slice.begin.value_or(0); i < end; ++i)
    names.push_back(prefix + slice.name + "." + std::to_string(i));
  return names;
}

Result<std::vector<unsigned>> Expander::endpoint(const YamlNode &end,
                                                 const std::string &prefix) {
  std::vector<std::string> owners = {prefix};
  for (StringRef key : {"instance", "device"}) {
    const YamlNode *field = end.find(key);
    if (!field)
      continue;
    Result<Slice> slice = parseSlice(*field);
    if (!slice)
      return Error{slice.error()};
    std::vector<std::string> inner;
    for (const std::string &owner : owners)
      for (const std::string &name : matching(owner, *slice))
        inner.push_back(name + ".");
    owners = inner;
  }
  const YamlNode *component = end.find("component");
  if (!component)
    return end.error("an end of an edge without a component");
  Result<Slice> slice = parseSlice(*component);
  if (!slice)
    return Error{slice.error()};
  std::vector<unsigned> nodes;
  for (const std::string &owner : owners)
    for (const std::string &name : matching(owner, *slice))
      if (auto node = nodeOf.find(name); node != nodeOf.end())
        nodes.push_back(node->second);
  return nodes;
}

std::optional<Error> Expander::join(const YamlNode &at, unsigned a, unsigned b,
                                    StringRef link) {
  if (a == b)
    return std::nullopt;
  if (graph.edges.size() >= maxGraphEdges)
    return at.error("more than " + llvm::Twine(maxGraphEdges) + " edges");
  const LinkInfo &info = links[link.str()];
  graph.edges.push_back({a, b, link.str(), info.about, info.rate});
  return std::nullopt;
}

std::optional<Error> Expander::addEdge(const YamlNode &edge,
                                       const std::string &prefix) {
  const YamlNode *ends[2] = {edge.find("ep1"), edge.find("ep2")};
  if (!ends[0] || !ends[1])
    return edge.error("an edge without ep1 and ep2");
  Result<std::vector<unsigned>> a = endpoint(*ends[0], prefix);
  Result<std::vector<unsigned>> b = endpoint(*ends[1], prefix);
  if (!a || !b)
    return Error{a ? b.error() : a.error()};
  if (a->empty() || b->empty()) {
    graph.warnings.push_back("the edge at " + *edge.path + ":" +
                             edge.place.str() +
                             " joins nothing that is there: left out");
    return std::nullopt;
  }
  if (edge.text("scheme") == "one2one") {
    for (size_t i = 0; i < std::min(a->size(), b->size()); ++i)
      if (std::optional<Error> error =
              join(edge, (*a)[i], (*b)[i], edge.text("link")))
        return error;
    return std::nullopt;
  }
  bool isSame = *a == *b;
  for (unsigned from : *a)
    for (unsigned to : *b)
      if (!isSame || from < to)
        if (std::optional<Error> error =
                join(edge, from, to, edge.text("link")))
          return error;
  return std::nullopt;
}

std::optional<Error> Expander::addConnection(const YamlNode &connection,
                                             const std::string &prefix) {
  // Names and numbers in turn, with the link between: the longest beginning
  // that is a node, the link, and the rest.
  llvm::SmallVector<StringRef> words;
  StringRef(connection.scalar).split(words, '.');
  std::string first;
  size_t i = 0;
  std::optional<unsigned> a;
  for (; i + 1 < words.size() && !a; i += 2) {
    first += (i ? "." : "") + (words[i] + "." + words[i + 1]).str();
    if (auto node = nodeOf.find(prefix + first); node != nodeOf.end())
      a = node->second;
  }
  std::string second = i < words.size()
                           ? llvm::join(words.begin() + i + 1, words.end(), ".")
                           : "";
  auto b = nodeOf.find(prefix + second);
  if (a && b != nodeOf.end())
    return join(connection, *a, b->second, words[i]);
  if (words.size() < 5)
    return connection.error("'" + connection.scalar +
                            "' is no connection such as xpu.0.nvlink.switch.1");
  graph.warnings.push_back("the connection " + connection.scalar +
                           " joins nothing that is there: left out");
  return std::nullopt;
}

std::optional<Error> Expander::addEdges(const YamlNode &owner,
                                        const std::string &prefix) {
  for (const YamlNode &edge : owner.list("edges"))
    if (std::optional<Error> error = addEdge(edge, prefix))
      return error;
  for (const YamlNode &connection : owner.list("connections"))
    if (std::optional<Error> error = addConnection(connection, prefix))
      return error;
  return std::nullopt;
}

/// How many instances of a name there are: said, or implied by connections.
static Result<unsigned> instanceCount(const YamlNode &instance,
                                      unsigned implied) {
  const YamlNode *said = instance.find("count");
  if (!said)
    return implied;
  std::optional<unsigned> count = wholeNumber(said->scalar);
  if (!count || *count > maxNodes)
    return said->error("'" + said->scalar + "' is no count");
  return *count;
}

std::optional<Error> Expander::expandInstances() {
  for (const YamlNode *instance : instances) {
    std::string name = instance->text("name").str();
    unsigned implied = 1;
    for (const YamlNode *top : tops)
      implied = std::max(implied, impliedCount(*top, name));
    Result<unsigned> count = instanceCount(*instance, implied);
    if (!count)
      return Error{count.error()};
    graph.counts[name] = *count;
    auto device = devices.find(instance->text("device").str());
    if (device == devices.end()) {
      graph.warnings.push_back(
          "instance " + name + " is of device " +
          instance->text("device").str() +
          ", which is in no file given: left out; import its file, too");
      continue;
    }
    countOf[name] = *count;
    for (unsigned i = 0; i < *count; ++i) {
      std::string full = name + "." + std::to_string(i);
      graph.instances.push_back(full);
      if (std::optional<Error> error =
              expandDevice(*device->second, full, full + ".", 0))
        return error;
    }
  }
  return std::nullopt;
}

Result<Graph> Expander::run() {
  for (const YamlNode &file : files)
    if (std::optional<Error> error = collect(file, true))
      return *error;
  if (std::optional<Error> error = expandInstances())
    return *error;
  bool isAnyExpanded = !graph.instances.empty();
  // A device alone is a box, and so is one beside instances of other devices
  // that have no accelerator.
  bool hasBox = llvm::any_of(graph.nodes, [](const GraphNode &node) {
    return isAccelerator(node.kind);
  });
  for (const auto &[name, device] : devices) {
    bool isInstance = llvm::any_of(instances, [&](const YamlNode *instance) {
      return instance->text("device") == name;
    });
    if (hasBox || isInstance)
      continue;
    graph.instances.push_back(name + ".0");
    if (std::optional<Error> error =
            expandDevice(*device, name + ".0", name + ".0.", 0))
      return *error;
  }
  for (const YamlNode *top : tops)
    if (isAnyExpanded)
      if (std::optional<Error> error = addEdges(*top, ""))
        return *error;
  return std::move(graph);
}

Result<Graph> import::expandGraph(const std::vector<YamlNode> &files) {
  return Expander(files).run();
}
