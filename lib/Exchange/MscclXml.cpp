//===- MscclXml.cpp - Reading algorithms of MSCCL -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Msccl.h"

#include "Xml.h"

#include <algorithm>
#include <array>
#include <charconv>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Types of steps
//===----------------------------------------------------------------------===//

bool exchange::sends(MscclType type) {
  using enum MscclType;
  return type == Send || type == ReceiveCopySend || type == ReceiveReduceSend ||
         type == ReceiveReduceCopySend;
}

bool exchange::receives(MscclType type) {
  using enum MscclType;
  return type == Receive || type == ReceiveReduceCopy ||
         (sends(type) && type != Send);
}

bool exchange::readsSource(MscclType type) {
  using enum MscclType;
  return type == Send || type == ReceiveReduceSend ||
         type == ReceiveReduceCopy || type == ReceiveReduceCopySend ||
         type == Copy || type == Reduce;
}

bool exchange::writesDestination(MscclType type) {
  using enum MscclType;
  return type == Receive || type == ReceiveCopySend ||
         type == ReceiveReduceCopy || type == ReceiveReduceCopySend ||
         type == Copy || type == Reduce;
}

static constexpr std::array<const char *, 9> typeNames = {
    "s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop"};
static constexpr std::array<const char *, 3> bufferNames = {"i", "o", "s"};

/// The value whose name is `text`.
template <typename T, size_t N>
static std::optional<T> parseName(const std::array<const char *, N> &names,
                                  std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (text == names[i])
      return T(i);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// The elements of one file, from the outermost to steps.
class MscclReader {
public:
  MscclReader(std::string_view text, Findings &findings)
      : xml(text, findings), findings(findings) {}
  std::optional<MscclAlgorithm> read();

private:
  std::string_view text(pugi::xml_node node, const char *name);
  int number(pugi::xml_node node, const char *name, int least, int most);
  std::optional<uint64_t> bytes(pugi::xml_node node, const char *name);
  std::optional<bool> flag(pugi::xml_node node, const char *name);
  /// Complains unless ids are 0, 1, 2, ... in any order; puts `items` in it.
  template <typename T>
  void sortById(pugi::xml_node parent, const char *what,
                std::vector<std::pair<int, T>> &read, std::vector<T> &items);

  MscclStep readStep(pugi::xml_node node);
  MscclBlock readBlock(pugi::xml_node node);
  MscclGpu readGpu(pugi::xml_node node);

  XmlReader xml;
  Findings &findings;
};
} // namespace

std::string_view MscclReader::text(pugi::xml_node node, const char *name) {
  pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute)
    xml.complain(node, std::string("<") + node.name() + "> has no attribute '" +
                           name + "'");
  return attribute.value();
}

/// A whole number, or `least` after a complaint.
int MscclReader::number(pugi::xml_node node, const char *name, int least,
                        int most) {
  pugi::xml_attribute attribute = node.attribute(name);
  std::string_view value = text(node, name);
  if (!attribute)
    return least;
  int result = 0;
  auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), result);
  if (error == std::errc() && end == value.data() + value.size() &&
      result >= least && result <= most)
    return result;
  xml.complain(node, std::string("'") + name + "' is \"" +
                         std::string(value.substr(0, 40)) +
                         "\", expected a number between " +
                         std::to_string(least) + " and " +
                         std::to_string(most));
  return least;
}

std::optional<uint64_t> MscclReader::bytes(pugi::xml_node node,
                                           const char *name) {
  pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute)
    return std::nullopt;
  std::string_view value = attribute.value();
  uint64_t result = 0;
  auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size())
    xml.complain(node, std::string("'") + name + "' is \"" +
                           std::string(value.substr(0, 40)) +
                           "\", expected a number of bytes");
  return result;
}

std::optional<bool> MscclReader::flag(pugi::xml_node node, const char *name) {
  if (!node.attribute(name))
    return std::nullopt;
  return number(node, name, 0, 1) == 1;
}

template <typename T>
void MscclReader::sortById(pugi::xml_node parent, const char *what,
                           std::vector<std::pair<int, T>> &read,
                           std::vector<T> &items) {
  std::ranges::stable_sort(read, {}, &std::pair<int, T>::first);
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i].first != int(i)) {
      xml.complain(
          parent,
          std::string("the ids of ") + what + " must be 0 to " +
              std::to_string(read.size() - 1) + ", there is " +
              (i > 0 && read[i].first == read[i - 1].first ? "twice " : "no ") +
              std::to_string(i > 0 && read[i].first == read[i - 1].first
                                 ? read[i].first
                                 : int(i)));
      return;
    }
    items.push_back(std::move(read[i].second));
  }
}

/// Numbers of chunks, and offsets in them, are 16 bits in all interpreters.
static constexpr int mostXmlNumber = 32767;

MscclStep MscclReader::readStep(pugi::xml_node node) {
  MscclStep step{};
  step.place = xml.placeOf(node);
  std::string_view type = text(node, "type");
  if (auto known = parseName<MscclType>(typeNames, type))
    step.type = *known;
  else
    xml.complain(node,
                 "a step of type '" + std::string(type.substr(0, 20)) +
                     "', expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop");
  for (auto [name, buffer] : {std::pair{"srcbuf", &step.srcBuffer},
                              std::pair{"dstbuf", &step.dstBuffer}}) {
    std::string_view value = text(node, name);
    if (auto known = parseName<Buffer>(bufferNames, value))
      *buffer = *known;
    else if (node.attribute(name))
      xml.complain(node, std::string("'") + name + "' is '" +
                             std::string(value.substr(0, 20)) +
                             "', expected i, o or s");
  }
  step.src = number(node, "srcoff", -1, mostXmlNumber);
  step.dst = number(node, "dstoff", -1, mostXmlNumber);
  step.count = number(node, "cnt", 0, mostXmlNumber);
  step.waitsForBlock = number(node, "depid", -1, mostXmlNumber);
  step.waitsForStep = number(node, "deps", -1, mostXmlNumber);
  step.isAwaited = number(node, "hasdep", 0, 1) == 1;
  return step;
}

MscclBlock MscclReader::readBlock(pugi::xml_node node) {
  MscclBlock block{xml.placeOf(node), 0, 0, 0, {}};
  block.sendPeer = number(node, "send", -1, mostXmlNumber);
  block.receivePeer = number(node, "recv", -1, mostXmlNumber);
  block.channel = number(node, "chan", 0, mostXmlNumber);
  std::vector<std::pair<int, MscclStep>> steps;
  for (pugi::xml_node step : node.children("step"))
    steps.emplace_back(number(step, "s", 0, 1 << 24), readStep(step));
  sortById(node, "steps", steps, block.steps);
  return block;
}

MscclGpu MscclReader::readGpu(pugi::xml_node node) {
  MscclGpu gpu{xml.placeOf(node), 0, 0, 0, {}};
  gpu.inputChunks = number(node, "i_chunks", 0, mostXmlNumber);
  gpu.outputChunks = number(node, "o_chunks", 0, mostXmlNumber);
  gpu.scratchChunks = number(node, "s_chunks", 0, mostXmlNumber);
  std::vector<std::pair<int, MscclBlock>> blocks;
  for (pugi::xml_node block : node.children("tb"))
    blocks.emplace_back(number(block, "id", 0, 1 << 24), readBlock(block));
  sortById(node, "thread blocks", blocks, gpu.blocks);
  return gpu;
}

std::optional<MscclAlgorithm> MscclReader::read() {
  pugi::xml_node root = xml.parse();
  if (!findings.empty())
    return std::nullopt;
  if (std::string_view(root.name()) != "algo") {
    xml.complain(root,
                 std::string("expected <algo>, got <") + root.name() + ">");
    return std::nullopt;
  }
  MscclAlgorithm result{};
  result.place = xml.placeOf(root);
  result.name = root.attribute("name").value();
  result.collective = text(root, "coll");
  result.protocol = text(root, "proto");
  result.numChannels = number(root, "nchannels", 1, mostXmlNumber);
  result.chunks = number(root, "nchunksperloop", 1, mostXmlNumber);
  result.inPlace = flag(root, "inplace");
  result.outOfPlace = flag(root, "outofplace");
  result.minBytes = bytes(root, "minBytes");
  result.maxBytes = bytes(root, "maxBytes");
  int ranks = number(root, "ngpus", 1, mostXmlNumber);
  std::vector<std::pair<int, MscclGpu>> gpus;
  for (pugi::xml_node gpu : root.children("gpu"))
    gpus.emplace_back(number(gpu, "id", 0, mostXmlNumber), readGpu(gpu));
  if (gpus.size() != size_t(ranks))
    xml.complain(root, "'ngpus' is " + std::to_string(ranks) +
                           ", and there are " + std::to_string(gpus.size()) +
                           " <gpu>");
  sortById(root, "gpus", gpus, result.gpus);
  if (!findings.empty())
    return std::nullopt;
  return result;
}

std::optional<MscclAlgorithm> exchange::parseMsccl(std::string_view text,
                                                   Findings &findings) {
  return MscclReader(text, findings).read();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void writeStep(pugi::xml_node block, size_t number,
                      const MscclStep &step) {
  pugi::xml_node node = block.append_child("step");
  auto add = [&](const char *name, auto value) {
    node.append_attribute(name).set_value(value);
  };
  add("s", unsigned(number));
  add("type", typeNames[size_t(step.type)]);
  add("srcbuf", bufferNames[size_t(step.srcBuffer)]);
  add("srcoff", step.src);
  add("dstbuf", bufferNames[size_t(step.dstBuffer)]);
  add("dstoff", step.dst);
  add("cnt", step.count);
  add("depid", step.waitsForBlock);
  add("deps", step.waitsForStep);
  add("hasdep", int(step.isAwaited));
}

static void writeGpu(pugi::xml_node root, size_t number, const MscclGpu &gpu) {
  pugi::xml_node node = root.append_child("gpu");
  node.append_attribute("id").set_value(unsigned(number));
  node.append_attribute("i_chunks").set_value(gpu.inputChunks);
  node.append_attribute("o_chunks").set_value(gpu.outputChunks);
  node.append_attribute("s_chunks").set_value(gpu.scratchChunks);
  for (size_t i = 0; i < gpu.blocks.size(); ++i) {
    const MscclBlock &block = gpu.blocks[i];
    pugi::xml_node child = node.append_child("tb");
    child.append_attribute("id").set_value(unsigned(i));
    child.append_attribute("send").set_value(block.sendPeer);
    child.append_attribute("recv").set_value(block.receivePeer);
    child.append_attribute("chan").set_value(block.channel);
    for (size_t k = 0; k < block.steps.size(); ++k)
      writeStep(child, k, block.steps[k]);
  }
}

namespace {
/// Collects text.
struct StringWriter : pugi::xml_writer {
  void write(const void *data, size_t size) override {
    text.append(static_cast<const char *>(data), size);
  }
  std::string text;
};
} // namespace

/// XML has no place for most control characters, and attributes lose the
/// others.
static std::string withoutControls(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char each) { return each < ' ' || each == 0x7f; }, '?');
  return name;
}

std::string exchange::printMsccl(const MscclAlgorithm &algorithm) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("algo");
  auto add = [&](const char *name, auto value) {
    root.append_attribute(name).set_value(value);
  };
  add("name", withoutControls(algorithm.name).c_str());
  add("proto", algorithm.protocol.c_str());
  add("nchannels", algorithm.numChannels);
  add("nchunksperloop", algorithm.chunks);
  add("ngpus", unsigned(algorithm.gpus.size()));
  add("coll", algorithm.collective.c_str());
  if (algorithm.inPlace)
    add("inplace", int(*algorithm.inPlace));
  if (algorithm.outOfPlace)
    add("outofplace", int(*algorithm.outOfPlace));
  if (algorithm.minBytes)
    add("minBytes", static_cast<unsigned long long>(*algorithm.minBytes));
  if (algorithm.maxBytes)
    add("maxBytes", static_cast<unsigned long long>(*algorithm.maxBytes));
  for (size_t i = 0; i < algorithm.gpus.size(); ++i)
    writeGpu(root, i, algorithm.gpus[i]);
  StringWriter writer;
  document.save(writer, "  ",
                pugi::format_indent | pugi::format_no_declaration);
  return std::move(writer.text);
}
