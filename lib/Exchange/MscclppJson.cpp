//===- MscclppJson.cpp - Reading and writing plans of MSCCL++ -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Mscclpp.h"

#include "Json.h"

using namespace sccl;
using namespace sccl::exchange;

static constexpr std::array<const char *, numMscclppKinds> kindNames = {
    "nop",   "barrier", "put",         "pws",         "pwsf",    "get",
    "copy",  "signal",  "wait",        "rlxsignal",   "rlxwait", "flush",
    "re",    "res",     "rre",         "rres",        "ppkt",    "rppkt",
    "cpkt",  "upkt",    "repkt",       "respkt",      "recpkt",  "recspkt",
    "glres", "gstore",  "sem_acquire", "sem_release", "pipeline"};
static constexpr std::array<const char *, 3> bufferLetters = {"i", "o", "s"};
static constexpr std::array<const char *, 4> channelNames = {"none", "memory",
                                                             "port", "switch"};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
constexpr uint64_t mostChunks = 1 << 20;
constexpr uint64_t mostRanks = 1 << 16;

class PlanReader {
public:
  PlanReader(std::string_view text, Findings &findings)
      : json(text, findings), findings(findings) {}
  std::optional<MscclppPlan> read();

private:
  /// The value whose name is a field's text.
  template <typename T, size_t N>
  T name(const std::array<const char *, N> &names, const Json::Value &value,
         const char *what);
  std::vector<uint32_t> numbers(const Json::Value &list, const char *what,
                                uint64_t most);
  MscclppPlan readPlan(const Json::Value &root);
  MscclppChunks readChunks(const Json::Value &value);
  MscclppOperation readOperation(const Json::Value &value);
  MscclppBlock readBlock(const Json::Value &value, uint64_t id);
  void readChannels(const Json::Value &gpu, MscclppGpu &result);
  MscclppRemote readRemote(const Json::Value &value);
  MscclppGpu readGpu(const Json::Value &value, uint64_t id);
  void expectId(const Json::Value &value, uint64_t id);

  JsonReader json;
  Findings &findings;
};
} // namespace

template <typename T, size_t N>
T PlanReader::name(const std::array<const char *, N> &names,
                   const Json::Value &value, const char *what) {
  std::string expected;
  for (size_t i = 0; i < N; ++i) {
    if (value.isString() && value.asString() == names[i])
      return T(i);
    expected += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  if (!value.isNull())
    json.complain(value, std::string("\"") + what + "\" is " +
                             JsonReader::shortText(value) +
                             ", expected one of " + expected);
  return T(0);
}

std::vector<uint32_t> PlanReader::numbers(const Json::Value &list,
                                          const char *what, uint64_t most) {
  std::vector<uint32_t> result;
  for (const Json::Value &value : list)
    result.push_back(uint32_t(json.number(value, what, 0, most)));
  return result;
}

MscclppChunks PlanReader::readChunks(const Json::Value &value) {
  MscclppChunks chunks;
  if (value.isObject() && value.isMember("switch_channel_id")) {
    json.complain(value, "not known: what a switch does is not checked");
  } else if (value.isObject() && value.isMember("buffer_id")) {
    chunks.isRemote = true;
    chunks.remote = uint32_t(json.number(value, "buffer_id", 255));
  } else {
    chunks.buffer =
        name<Buffer>(bufferLetters, json.field(value, "type"), "type");
  }
  chunks.first = uint32_t(json.number(value, "index", mostChunks));
  chunks.count = uint32_t(json.number(value, "size", mostChunks));
  return chunks;
}

MscclppOperation PlanReader::readOperation(const Json::Value &value) {
  MscclppOperation operation;
  operation.place = json.placeOf(value);
  operation.kind =
      name<MscclppKind>(kindNames, json.field(value, "name"), "name");
  if (!value.isObject())
    return operation;
  if (operation.kind == MscclppKind::Pipeline)
    json.complain(value, "not known: pipelines are not checked");
  if (value.isMember("channel_type"))
    operation.channel = name<MscclppChannel>(
        channelNames, value["channel_type"], "channel_type");
  operation.channels =
      numbers(json.listOrNone(value, "channel_ids"), "channel_ids", 255);
  for (const Json::Value &chunks : json.listOrNone(value, "src_buff"))
    operation.sources.push_back(readChunks(chunks));
  for (const Json::Value &chunks : json.listOrNone(value, "dst_buff"))
    operation.destinations.push_back(readChunks(chunks));
  if (value.isMember("tbg_info")) {
    const Json::Value &group = value["tbg_info"];
    operation.parts = uint32_t(
        json.number(json.field(group, "tbg_size"), "tbg_size", 1, 1024));
    operation.part = uint32_t(json.number(json.field(group, "tb_id"), "tb_id",
                                          0, operation.parts - 1));
  }
  if (operation.kind == MscclppKind::Barrier) {
    operation.barrier = uint32_t(json.number(value, "barrier_id", mostChunks));
    operation.blocks =
        uint32_t(json.number(value, "num_threadblocks", mostChunks));
  }
  operation.semaphores = numbers(json.listOrNone(value, "semaphore_ids"),
                                 "semaphore_ids", mostChunks);
  return operation;
}

void PlanReader::expectId(const Json::Value &value, uint64_t id) {
  uint64_t is = json.number(value, "id", ~uint64_t(0) >> 1);
  if (is != id)
    json.complain(value, "\"id\" is " + std::to_string(is) + " of number " +
                             std::to_string(id) + " in its list");
}

MscclppBlock PlanReader::readBlock(const Json::Value &value, uint64_t id) {
  MscclppBlock block;
  block.place = json.placeOf(value);
  expectId(value, id);
  for (const Json::Value &channel : json.list(value, "channels")) {
    auto type = name<MscclppChannel>(
        channelNames, json.field(channel, "channel_type"), "channel_type");
    for (uint32_t number :
         numbers(json.list(channel, "channel_ids"), "channel_ids", mostChunks))
      block.channels[type].push_back(number);
  }
  for (const Json::Value &refs : json.listOrNone(value, "remote_buffer_refs")) {
    auto type = name<MscclppChannel>(channelNames,
                                     json.field(refs, "access_channel_type"),
                                     "access_channel_type");
    for (uint32_t number : numbers(json.list(refs, "remote_buffer_ids"),
                                   "remote_buffer_ids", mostChunks))
      block.remotes[type].push_back(number);
  }
  for (const Json::Value &operation : json.list(value, "ops"))
    block.operations.push_back(readOperation(operation));
  return block;
}

void PlanReader::readChannels(const Json::Value &gpu, MscclppGpu &result) {
  for (const Json::Value &channel : json.list(gpu, "channels")) {
    auto type = name<MscclppChannel>(
        channelNames, json.field(channel, "channel_type"), "channel_type");
    if (type == MscclppChannel::Switch) {
      json.complain(channel,
                    channel.isMember("buffer_type")
                        ? "not known: what a switch does is not checked"
                        : "a switch without \"buffer_type\": this is no plan "
                          "of version 0.9");
      continue;
    }
    for (uint32_t peer :
         numbers(json.list(channel, "connected_to"), "connected_to", mostRanks))
      result.peers[type].push_back(peer);
  }
}

MscclppRemote PlanReader::readRemote(const Json::Value &value) {
  MscclppRemote remote{json.placeOf(value), 0, {}, false, false};
  remote.rank = uint32_t(json.number(value, "rank", mostRanks));
  remote.buffer =
      name<Buffer>(bufferLetters, json.field(value, "type"), "type");
  for (const Json::Value &type : json.list(value, "access_channel_types")) {
    auto channel =
        name<MscclppChannel>(channelNames, type, "access_channel_types");
    remote.byMemory |= channel == MscclppChannel::Memory;
    remote.byPort |= channel == MscclppChannel::Port;
  }
  return remote;
}

MscclppGpu PlanReader::readGpu(const Json::Value &value, uint64_t id) {
  MscclppGpu gpu{};
  gpu.place = json.placeOf(value);
  expectId(value, id);
  gpu.inputChunks = uint32_t(json.number(value, "input_chunks", mostChunks));
  gpu.outputChunks = uint32_t(json.number(value, "output_chunks", mostChunks));
  gpu.scratchChunks =
      uint32_t(json.number(value, "scratch_chunks", mostChunks));
  readChannels(value, gpu);
  for (const Json::Value &remote : json.list(value, "remote_buffers"))
    gpu.remotes.push_back(readRemote(remote));
  for (const Json::Value &semaphore : json.listOrNone(value, "semaphores"))
    gpu.semaphores.push_back(
        uint32_t(json.number(semaphore, "init_value", mostChunks)));
  for (const Json::Value &block : json.list(value, "threadblocks"))
    gpu.blocks.push_back(readBlock(block, gpu.blocks.size()));
  return gpu;
}

/// A name in `value` that plans had before the executor of July 2025, which
/// renamed nearly everything; null if there is none.
static const char *olderName(const Json::Value &value) {
  if (value.isObject()) {
    for (const char *name : {"colletive",
                             "inputChunks",
                             "outputChunks",
                             "scratchChunks",
                             "chunkGroups",
                             "input_buffer_size",
                             "remoteBuffers",
                             "remoteBufferIds",
                             "remoteBuffersIds",
                             "remoteBuffersRefs",
                             "connectedTo",
                             "rankGroups",
                             "srcbuff",
                             "dstbuff",
                             "ctype",
                             "cids",
                             "i_cids",
                             "o_cids",
                             "i_buff",
                             "o_buff",
                             "deps",
                             "output_channel_ids"})
      if (value.isMember(name))
        return name;
    // A buffer has a type, too, and a channel of today a channel_type.
    bool isChannel =
        value.isMember("connected_to") || value.isMember("rank_groups");
    if (isChannel && value.isMember("type"))
      return "type";
    bool isOperation = value.isMember("src_buff") || value.isMember("dst_buff");
    for (const char *name : {"rrc", "rrcs", "rs", "tpkt", "ucpkt", "rpkt",
                             "rspkt", "rsignal", "rwait"})
      if (isOperation && value["name"].isString() &&
          value["name"].asString() == name)
        return name;
  }
  if (value.isObject() || value.isArray())
    for (const Json::Value &inner : value)
      if (const char *name = olderName(inner))
        return name;
  return nullptr;
}

std::optional<MscclppPlan> PlanReader::read() {
  Json::Value root = json.parse();
  if (!findings.empty())
    return std::nullopt;
  if (!root.isObject() || !root.isMember("gpus")) {
    json.complain(root, "this is no plan of MSCCL++: it has no \"gpus\"");
    return std::nullopt;
  }
  MscclppPlan plan = readPlan(root);
  if (findings.empty())
    return plan;
  // All else that is wrong follows from its age.
  if (const char *name = olderName(root)) {
    findings = {};
    json.complain(root, "this is a plan for MSCCL++ before the executor of "
                        "July 2025, by its name \"" +
                            std::string(name) +
                            "\"; version 0.9 does not read it");
  }
  return std::nullopt;
}

MscclppPlan PlanReader::readPlan(const Json::Value &root) {
  MscclppPlan plan;
  plan.place = json.placeOf(root);
  plan.name = json.text(root, "name");
  plan.collective = json.text(root, "collective");
  plan.protocol = json.text(root, "protocol");
  (void)json.field(root, "inplace");
  plan.inPlace = json.flagOr(root, "inplace", false);
  plan.reusesResources = json.flagOr(root, "reuse_resources", false);
  plan.doublesScratch = json.flagOr(root, "use_double_scratch_buffer", false);
  plan.alignment =
      uint32_t(json.numberOr(root, "buffer_alignment", mostChunks, 16));
  plan.threads =
      uint32_t(json.numberOr(root, "num_threads_per_block", mostChunks, 1024));
  plan.minBytes = json.numberOr(root, "min_message_size", ~uint64_t(0), 0);
  plan.maxBytes =
      json.numberOr(root, "max_message_size", ~uint64_t(0), ~uint64_t(0));
  for (const Json::Value &gpu : json.list(root, "gpus"))
    plan.gpus.push_back(readGpu(gpu, plan.gpus.size()));
  return plan;
}

std::optional<MscclppPlan> exchange::parseMscclpp(std::string_view text,
                                                  Findings &findings) {
  return PlanReader(text, findings).read();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json::Value toJson(const std::vector<uint32_t> &numbers) {
  Json::Value list(Json::arrayValue);
  for (uint32_t number : numbers)
    list.append(number);
  return list;
}

static Json::Value toJson(const std::vector<MscclppChunks> &all) {
  Json::Value list(Json::arrayValue);
  for (const MscclppChunks &chunks : all) {
    Json::Value value;
    if (chunks.isRemote)
      value["buffer_id"] = chunks.remote;
    else
      value["type"] = bufferLetters[size_t(chunks.buffer)];
    value["index"] = chunks.first;
    value["size"] = chunks.count;
    list.append(std::move(value));
  }
  return list;
}

static Json::Value toJson(const MscclppOperation &operation) {
  Json::Value value;
  value["name"] = kindNames[size_t(operation.kind)];
  if (operation.channel != MscclppChannel::None)
    value["channel_type"] = channelNames[size_t(operation.channel)];
  if (!operation.channels.empty())
    value["channel_ids"] = toJson(operation.channels);
  if (!operation.sources.empty())
    value["src_buff"] = toJson(operation.sources);
  if (!operation.destinations.empty())
    value["dst_buff"] = toJson(operation.destinations);
  if (operation.parts > 1) {
    value["tbg_info"]["tb_id"] = operation.part;
    value["tbg_info"]["tbg_size"] = operation.parts;
  }
  if (operation.kind == MscclppKind::Barrier) {
    value["barrier_id"] = operation.barrier;
    value["num_threadblocks"] = operation.blocks;
  }
  if (!operation.semaphores.empty())
    value["semaphore_ids"] = toJson(operation.semaphores);
  if (operation.sources.size() > 1)
    value["reduce_op"] = "sum";
  return value;
}

/// One object for each channel type of which there is something.
static Json::Value toJson(const MscclppByChannel<uint32_t> &numbers,
                          const char *type, const char *what) {
  Json::Value list(Json::arrayValue);
  for (auto channel : {MscclppChannel::Memory, MscclppChannel::Port}) {
    if (numbers[channel].empty())
      continue;
    Json::Value value;
    value[type] = channelNames[size_t(channel)];
    value[what] = toJson(numbers[channel]);
    list.append(std::move(value));
  }
  return list;
}

static Json::Value toJson(const MscclppGpu &gpu, unsigned rank) {
  Json::Value value;
  value["id"] = rank;
  value["input_chunks"] = gpu.inputChunks;
  value["output_chunks"] = gpu.outputChunks;
  value["scratch_chunks"] = gpu.scratchChunks;
  value["channels"] = toJson(gpu.peers, "channel_type", "connected_to");
  value["remote_buffers"] = Json::Value(Json::arrayValue);
  for (const MscclppRemote &remote : gpu.remotes) {
    Json::Value &item = value["remote_buffers"].append({});
    item["rank"] = remote.rank;
    item["type"] = bufferLetters[size_t(remote.buffer)];
    if (remote.byMemory)
      item["access_channel_types"].append("memory");
    if (remote.byPort)
      item["access_channel_types"].append("port");
  }
  value["semaphores"] = Json::Value(Json::arrayValue);
  for (uint32_t count : gpu.semaphores)
    value["semaphores"].append({})["init_value"] = count;
  value["threadblocks"] = Json::Value(Json::arrayValue);
  for (const MscclppBlock &block : gpu.blocks) {
    Json::Value item;
    item["id"] = value["threadblocks"].size();
    item["channels"] = toJson(block.channels, "channel_type", "channel_ids");
    item["remote_buffer_refs"] =
        toJson(block.remotes, "access_channel_type", "remote_buffer_ids");
    item["ops"] = Json::Value(Json::arrayValue);
    for (const MscclppOperation &operation : block.operations)
      item["ops"].append(toJson(operation));
    value["threadblocks"].append(std::move(item));
  }
  return value;
}

std::string exchange::printMscclpp(const MscclppPlan &plan) {
  Json::Value root;
  root["name"] = plan.name;
  root["collective"] = plan.collective;
  root["protocol"] = plan.protocol;
  root["inplace"] = plan.inPlace;
  root["reuse_resources"] = plan.reusesResources;
  root["use_double_scratch_buffer"] = plan.doublesScratch;
  root["buffer_alignment"] = plan.alignment;
  root["num_threads_per_block"] = plan.threads;
  root["min_message_size"] = Json::UInt64(plan.minBytes);
  root["max_message_size"] = Json::UInt64(plan.maxBytes);
  root["gpus"] = Json::Value(Json::arrayValue);
  for (size_t rank = 0; rank < plan.gpus.size(); ++rank)
    root["gpus"].append(toJson(plan.gpus[rank], unsigned(rank)));
  Json::StreamWriterBuilder builder;
  builder["indentation"] = " ";
  return Json::writeString(builder, root) + "\n";
}
