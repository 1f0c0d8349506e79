//===- ManifestReader.cpp - The JSON part of a plan, reading --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "sccl/Model/SumTree.h"
#include "sccl/Plan/Plan.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::plan;

namespace {
/// Reads fields of one JSON object after the other. The first thing that is not
/// as it should be becomes the error; what is read after it does not matter.
class Reader {
public:
  std::string error;

  bool fail(const std::string &message) {
    if (error.empty())
      error = "the manifest is broken: " + message;
    return false;
  }

  uint64_t number(const json::Object &object, llvm::StringRef key,
                  uint64_t least, uint64_t most) {
    std::optional<int64_t> value = object.getInteger(key);
    if (!value)
      return fail("'" + key.str() + "' is missing or no integer"), least;
    if (*value < 0 || uint64_t(*value) < least || uint64_t(*value) > most)
      return fail("'" + key.str() + "' is " + std::to_string(*value) +
                  ", expected " + std::to_string(least) + " to " +
                  std::to_string(most)),
             least;
    return uint64_t(*value);
  }

  bool flag(const json::Object &object, llvm::StringRef key) {
    std::optional<bool> value = object.getBoolean(key);
    if (!value)
      return fail("'" + key.str() + "' is missing or neither true nor false");
    return *value;
  }

  std::string name(const json::Object &object, llvm::StringRef key) {
    std::optional<llvm::StringRef> value = object.getString(key);
    if (!value)
      return fail("'" + key.str() + "' is missing or no string"), "";
    return checkedName(*value, key);
  }

  /// In UTF-8: U+0000 to U+001F, and U+007F to U+009F.
  static bool hasControl(llvm::StringRef text) {
    unsigned char before = 0;
    for (unsigned char byte : text) {
      if (byte < ' ' || byte == 0x7f || (before == 0xc2 && byte < 0xa0))
        return true;
      before = byte;
    }
    return false;
  }

  std::string checkedName(llvm::StringRef value, llvm::StringRef key) {
    if (value.size() > Limits::nameBytes)
      return fail("'" + key.str() + "' has " + std::to_string(value.size()) +
                  " bytes, the limit is " + std::to_string(Limits::nameBytes)),
             "";
    if (hasControl(value))
      return fail("'" + key.str() + "' has control characters"), "";
    return value.str();
  }

  /// Calls `read` on each object of the list `key`.
  template <typename T, typename Read>
  std::vector<T> list(const json::Object &object, llvm::StringRef key,
                      uint64_t least, uint64_t most, Read read) {
    std::vector<T> result;
    const json::Array *array = object.getArray(key);
    if (!array)
      return fail("'" + key.str() + "' is missing or no list"), result;
    if (array->size() < least || array->size() > most)
      return fail("'" + key.str() + "' has " + std::to_string(array->size()) +
                  " entries, expected " + std::to_string(least) + " to " +
                  std::to_string(most)),
             result;
    for (const json::Value &value : *array) {
      const json::Object *entry = value.getAsObject();
      if (!entry)
        return fail("an entry of '" + key.str() + "' is no object"), result;
      result.push_back(read(*entry));
      if (!error.empty())
        return result;
    }
    return result;
  }

  /// A list of one string, or of `count`.
  std::vector<std::string> names(const json::Object &object,
                                 llvm::StringRef key, uint64_t count) {
    std::vector<std::string> result;
    const json::Array *array = object.getArray(key);
    if (!array || (array->size() != count && array->size() != 1))
      return fail("'" + key.str() + "' is no list of " + std::to_string(count) +
                  " strings, nor of one"),
             result;
    for (const json::Value &value : *array) {
      std::optional<llvm::StringRef> text = value.getAsString();
      if (!text)
        return fail("an entry of '" + key.str() + "' is no string"), result;
      result.push_back(checkedName(*text, key));
    }
    return result;
  }
};

/// Reads the parts of a manifest, each after those that it refers to.
class ManifestReader : public Reader {
public:
  ManifestReader(const json::Object &root, std::vector<BlobRange> &blobs)
      : root(root), blobs(blobs) {}

  Result<Manifest> read() {
    readProblem();
    if (error.empty())
      readCode();
    if (error.empty())
      readTables();
    if (!error.empty())
      return Error{error};
    return std::move(manifest);
  }

private:
  void readProblem() {
    manifest.generator = name(root, "generator");
    manifest.collective = name(root, "collective");
    manifest.ranks = number(root, "ranks", 1, Limits::ranks);
    manifest.root = number(root, "root", 0, manifest.ranks - 1);
    manifest.combining = flag(root, "combining");
    // Plans of before there were orders have none.
    if (std::optional<llvm::StringRef> order = root.getString("sumOrder")) {
      auto known = SumOrder::parse(*order);
      if (!known || known->toString() != *order)
        fail("'sumOrder' is '" + order->str() + "', which is no order");
      manifest.sumOrder = order->str();
    }
    if (root.get("oneRounding"))
      manifest.oneRounding = flag(root, "oneRounding");
    if (root.get("wire")) {
      if (std::string wire = name(root, "wire"); wire != "f32")
        fail("'wire' is '" + wire + "', expected f32");
      manifest.sumsInF32 = true;
    }
    manifest.sendSegments = number(root, "sendSegments", 1, Limits::chunks);
    if (root.get("conditions"))
      readConditions();
    if (const json::Object *topology = root.getObject("topology")) {
      manifest.topology = name(*topology, "name");
      manifest.fingerprint = name(*topology, "fingerprint");
    } else {
      fail("'topology' is missing");
    }
    manifest.schedules = list<ScheduleInfo>(
        root, "schedules", 1, Limits::entries,
        [&](const json::Object &object) { return readSchedule(object); });
  }

  void readConditions() {
    const json::Object *object = root.getObject("conditions");
    if (!object) {
      fail("'conditions' is no object");
      return;
    }
    Conditions &conditions = manifest.conditions.emplace();
    conditions.chunks = number(*object, "chunks", 1, Limits::chunks);
    conditions.distinct =
        number(*object, "distinct", 1, Limits::pairs / manifest.ranks);
  }

  ScheduleInfo readSchedule(const json::Object &object) {
    ScheduleInfo schedule;
    schedule.name = name(object, "name");
    schedule.chunks = number(object, "chunks", 1, Limits::chunks);
    schedule.chunksPerSegment =
        number(object, "chunksPerSegment", 1, schedule.chunks);
    schedule.steps = number(object, "steps", 0, UINT32_MAX);
    schedule.rounds = number(object, "rounds", 0, UINT32_MAX);
    schedule.cost = name(object, "cost");
    return schedule;
  }

  void readCode() {
    blobs = list<BlobRange>(
        root, "blobs", 0, Limits::entries, [&](const json::Object &object) {
          return BlobRange{number(object, "offset", 0, Limits::fileBytes),
                           number(object, "bytes", 0, Limits::fileBytes),
                           readHash(object)};
        });
    manifest.programs = list<ProgramEntry>(
        root, "programs", 1, Limits::entries,
        [&](const json::Object &object) { return readProgram(object); });
    if (!error.empty())
      return;
    manifest.rankTables = number(root, "rankTables", 0, Limits::rankTables);
    manifest.kernels = list<KernelInfo>(
        root, "kernels", 0, Limits::entries,
        [&](const json::Object &object) { return readKernel(object); });
  }

  std::string readHash(const json::Object &object) {
    std::string hash = name(object, "sha256");
    if (hash.size() != 64 ||
        hash.find_first_not_of("0123456789abcdef") != std::string::npos)
      fail("'sha256' is '" + hash + "', expected 64 hexadecimal digits");
    return hash;
  }

  ProgramEntry readProgram(const json::Object &object) {
    ProgramEntry program;
    program.schedule =
        number(object, "schedule", 0, manifest.schedules.size() - 1);
    program.variant = name(object, "variant");
    program.codeShape = name(object, "codeShape");
    if (program.codeShape != "unrolled" && program.codeShape != "table")
      fail("'codeShape' is '" + program.codeShape +
           "', expected unrolled or table");
    program.blocks = number(object, "blocks", 1, Limits::blocks);
    program.peersReadInput = flag(object, "peersReadInput");
    program.peersTouchOutput = flag(object, "peersTouchOutput");
    program.inPlace = flag(object, "inPlace");
    program.announcesReady = flag(object, "announcesReady");
    program.chunksMoved = number(object, "chunksMoved", 0, Limits::moves);
    program.largestTransfer =
        number(object, "largestTransfer", 0, Limits::moves);
    program.transfersAtOnce =
        number(object, "transfersAtOnce", 1, Limits::blocks);
    program.steps =
        number(object, "steps", 0, std::min(Limits::steps, stepsLeft));
    stepsLeft -= program.steps;
    if (object.get("stepsTouchPeers"))
      program.stepsTouchPeers = flag(object, "stepsTouchPeers");
    if (object.get("switchGroups"))
      program.switchGroups = readGroups(object.getArray("switchGroups"));
    if (object.get("source"))
      program.source = readSource(object.getObject("source"));
    return program;
  }

  std::vector<unsigned> readGroups(const json::Array *array) {
    std::vector<unsigned> groups;
    for (const json::Value &value : array ? *array : json::Array()) {
      const int64_t *group = value.as<int64_t>();
      if (!group || *group < 0 || *group >= int64_t(manifest.ranks))
        return fail("an entry of 'switchGroups' is no number of a group"),
               groups;
      groups.push_back(*group);
    }
    if (groups.size() != manifest.ranks)
      fail("'switchGroups' is no list of " + std::to_string(manifest.ranks) +
           " numbers");
    return groups;
  }

  std::optional<ProgramSource> readSource(const json::Object *object) {
    if (!object || blobs.empty()) {
      fail("'source' is no object, or there is no blob");
      return std::nullopt;
    }
    return ProgramSource{unsigned(number(*object, "blob", 0, blobs.size() - 1)),
                         name(*object, "schedule"),
                         unsigned(number(*object, "way", 0, 1 << 20))};
  }

  KernelInfo readKernel(const json::Object &object) {
    KernelInfo kernel;
    kernel.program = number(object, "program", 0, manifest.programs.size() - 1);
    kernel.target = name(object, "target");
    kernel.format = name(object, "format");
    kernel.element = name(object, "element");
    kernel.reduction = name(object, "reduction");
    kernel.blockSize = number(object, "blockSize", 1, 1024);
    kernel.symbols = names(object, "symbols", manifest.ranks);
    kernel.virtualSymbol = name(object, "virtualSymbol");
    if (object.get("rankTables"))
      kernel.rankTables = readRankTables(object);
    if (blobs.empty())
      fail("there is a kernel, but no blob");
    else
      kernel.blob = number(object, "blob", 0, blobs.size() - 1);
    return kernel;
  }

  unsigned readRankTables(const json::Object &object) {
    if (manifest.rankTables != 0)
      return number(object, "rankTables", 0, manifest.rankTables - 1);
    fail("a kernel needs tables of ranks, and there are none");
    return 0;
  }

  void readTables() {
    manifest.tables = list<SizeTable>(
        root, "tables", 0, Limits::entries, [&](const json::Object &object) {
          SizeTable table;
          table.source = name(object, "source");
          table.target = name(object, "target");
          table.ranksAs = name(object, "ranksAs");
          table.choices = list<SizeChoice>(
              object, "choices", 1, Limits::entries,
              [&](const json::Object &entry) { return readChoice(entry); });
          if (object.get("times"))
            table.times = list<SizedTime>(
                object, "times", 1, Limits::entries,
                [&](const json::Object &entry) { return readTime(entry); });
          checkOrder(table);
          return table;
        });
  }

  SizeChoice readChoice(const json::Object &object) {
    SizeChoice choice;
    choice.firstByte = number(object, "firstByte", 0, uint64_t(1) << 62);
    choice.program = number(object, "program", 0, manifest.programs.size() - 1);
    std::optional<Path> path = parsePath(name(object, "path"));
    if (!path)
      fail("'path' is neither auto, direct nor staging");
    else
      choice.path = *path;
    choice.pieceBytes = number(object, "pieceBytes", 0, uint64_t(1) << 40);
    return choice;
  }

  SizedTime readTime(const json::Object &object) {
    SizedTime time{number(object, "bytes", 0, uint64_t(1) << 62),
                   number(object, "nanoseconds", 0, uint64_t(1) << 62)};
    if (object.get("bound"))
      time.bound = number(object, "bound", 1, uint64_t(1) << 62);
    return time;
  }

  void checkOrder(const SizeTable &table) {
    for (size_t i = 1; i < table.times.size(); ++i)
      if (table.times[i].bytes <= table.times[i - 1].bytes)
        fail("the sizes of times do not ascend");
    uint64_t next = 0;
    for (const SizeChoice &choice : table.choices) {
      if (&choice == &table.choices.front() ? choice.firstByte != 0
                                            : choice.firstByte < next) {
        fail("the sizes of a table do not ascend from 0");
        return;
      }
      next = choice.firstByte + 1;
    }
  }

  const json::Object &root;
  std::vector<BlobRange> &blobs;
  Manifest manifest;
  unsigned stepsLeft = Limits::entries; ///< of all programs
};
} // namespace

/// What in `text` is more than the limits: parsers would run out of stack in
/// nests, and each object takes memory, however small.
static std::optional<Error> findExcess(llvm::StringRef text) {
  unsigned depth = 0, objects = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '{' || c == '[') {
      if (++depth > Limits::manifestDepth)
        return Error{"the manifest is broken: it nests deeper than " +
                     std::to_string(Limits::manifestDepth)};
      objects += c == '{';
      if (objects > Limits::manifestObjects)
        return Error{"the manifest is broken: it has more than " +
                     std::to_string(Limits::manifestObjects) + " objects"};
    } else if (c == '}' || c == ']') {
      depth -= depth > 0;
    }
  }
  return std::nullopt;
}

/// Fails unless `text` is what a writer makes of `manifest`: with every field
/// once, in the order of their names, and none that this version does not know.
static std::optional<Error> checkSpelling(llvm::StringRef text,
                                          const Manifest &manifest,
                                          llvm::ArrayRef<BlobRange> blobs) {
  std::string expected = manifestText(manifest, blobs);
  text = text.rtrim(' ');
  if (text == expected)
    return std::nullopt;
  auto differs =
      std::mismatch(text.begin(), text.end(), expected.begin(), expected.end());
  size_t at = differs.first - text.begin();
  return Error{"the manifest is broken: it is written in another way than "
               "plans are, from byte " +
               std::to_string(at) + " on: '" + text.substr(at, 40).str() + "'"};
}

Result<Manifest> plan::parseManifest(llvm::StringRef text,
                                     std::vector<BlobRange> &blobs) {
  if (std::optional<Error> error = findExcess(text))
    return *error;
  Result<json::Value> value = json::parse(text);
  if (!value)
    return Error{"the manifest is not the JSON of one: " + value.error()};
  const json::Object *root = value->getAsObject();
  if (!root)
    return Error{"the manifest is no JSON object"};
  Result<Manifest> manifest = ManifestReader(*root, blobs).read();
  if (!manifest)
    return manifest;
  if (std::optional<Error> error = checkSpelling(text, *manifest, blobs))
    return *error;
  return manifest;
}
