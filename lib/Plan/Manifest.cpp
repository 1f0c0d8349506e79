//===- Manifest.cpp - The JSON part of a plan -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/Plan.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace sccl;
using namespace sccl::plan;
namespace json = llvm::json;

llvm::StringRef plan::pathName(Path path) {
  switch (path) {
  case Path::Auto:
    return "auto";
  case Path::Direct:
    return "direct";
  case Path::Staging:
    return "bounce";
  }
  return "";
}

std::optional<Path> plan::parsePath(llvm::StringRef name) {
  for (Path path : {Path::Auto, Path::Direct, Path::Staging})
    if (name == pathName(path))
      return path;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
template <typename T, typename Write>
json::Array writeList(llvm::ArrayRef<T> items, Write write) {
  json::Array array;
  for (const T &item : items)
    array.push_back(write(item));
  return array;
}

json::Value writeLayout(const RankLayout &layout) {
  json::Object object{{"inputSegments", layout.inputSegments},
                      {"outputSegments", layout.outputSegments}};
  if (layout.inPlaceOffset)
    object["inPlaceOffset"] = *layout.inPlaceOffset;
  return object;
}

json::Value writeConditions(const Conditions &conditions) {
  using Chunks = std::vector<unsigned>;
  auto write = [](const Chunks &chunks) { return json::Array(chunks); };
  return json::Object{{"chunks", conditions.chunks},
                      {"distinct", conditions.distinct},
                      {"pre", writeList<Chunks>(conditions.pre, write)},
                      {"post", writeList<Chunks>(conditions.post, write)}};
}

json::Value writeSchedule(const ScheduleInfo &schedule) {
  return json::Object{{"name", schedule.name},
                      {"chunks", schedule.chunks},
                      {"chunksPerSegment", schedule.chunksPerSegment},
                      {"steps", schedule.steps},
                      {"rounds", schedule.rounds},
                      {"cost", schedule.cost}};
}

json::Value writeNeeds(const RankNeeds &needs) {
  return json::Object{{"channels", needs.channels},
                      {"scratchSlots", needs.scratchSlots},
                      {"controlBytes", int64_t(needs.controlBytes)}};
}

json::Value writeCopy(unsigned step, const EngineCopy &copy) {
  return json::Object{{"step", step},
                      {"executor", copy.executor},
                      {"srcRank", copy.srcRank},
                      {"srcBuffer", copy.srcBuffer},
                      {"srcSlot", copy.srcSlot},
                      {"dstRank", copy.dstRank},
                      {"dstBuffer", copy.dstBuffer},
                      {"dstSlot", copy.dstSlot},
                      {"position", copy.position},
                      {"count", copy.count}};
}

json::Value writeProgram(const ProgramInfo &program) {
  json::Array copies;
  for (unsigned step = 0; step < program.copies.size(); ++step)
    for (const EngineCopy &copy : program.copies[step])
      copies.push_back(writeCopy(step, copy));
  return json::Object{
      {"schedule", program.schedule},
      {"variant", program.variant},
      {"codeShape", program.codeShape},
      {"blocks", program.blocks},
      {"peersReadInput", program.peersReadInput},
      {"peersTouchOutput", program.peersTouchOutput},
      {"inPlace", program.inPlace},
      {"announcesReady", program.announcesReady},
      {"steps", program.copies.size()},
      {"copies", std::move(copies)},
      {"chunksMoved", int64_t(program.chunksMoved)},
      {"ranks", writeList<RankNeeds>(program.ranks, writeNeeds)}};
}

json::Value writeKernel(const KernelInfo &kernel) {
  return json::Object{{"program", kernel.program},
                      {"target", kernel.target},
                      {"format", kernel.format},
                      {"element", kernel.element},
                      {"reduction", kernel.reduction},
                      {"blockSize", kernel.blockSize},
                      {"symbols", json::Array(kernel.symbols)},
                      {"virtualSymbol", kernel.virtualSymbol},
                      {"blob", kernel.blob}};
}

json::Value writeChoice(const SizeChoice &choice) {
  return json::Object{{"firstByte", int64_t(choice.firstByte)},
                      {"program", choice.program},
                      {"path", pathName(choice.path)},
                      {"pieceBytes", int64_t(choice.pieceBytes)}};
}

json::Value writeTable(const SizeTable &table) {
  return json::Object{
      {"source", table.source},
      {"target", table.target},
      {"ranksAs", table.ranksAs},
      {"choices", writeList<SizeChoice>(table.choices, writeChoice)}};
}
} // namespace

std::string plan::manifestText(const Manifest &manifest,
                               llvm::ArrayRef<BlobRange> blobs) {
  json::Object object{
      {"generator", manifest.generator},
      {"collective", manifest.collective},
      {"ranks", manifest.ranks},
      {"root", manifest.root},
      {"combining", manifest.combining},
      {"sendSegments", manifest.sendSegments},
      {"layout", writeList<RankLayout>(manifest.layout, writeLayout)},
      {"topology", json::Object{{"name", manifest.topology},
                                {"fingerprint", manifest.fingerprint}}},
      {"schedules", writeList<ScheduleInfo>(manifest.schedules, writeSchedule)},
      {"programs", writeList<ProgramInfo>(manifest.programs, writeProgram)},
      {"kernels", writeList<KernelInfo>(manifest.kernels, writeKernel)},
      {"tables", writeList<SizeTable>(manifest.tables, writeTable)},
      {"blobs", writeList<BlobRange>(blobs, [](const BlobRange &blob) {
         return json::Value(json::Object{{"offset", int64_t(blob.offset)},
                                         {"bytes", int64_t(blob.bytes)},
                                         {"sha256", blob.hash}});
       })}};
  if (manifest.conditions)
    object["conditions"] = writeConditions(*manifest.conditions);
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

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

  /// A list of `count` strings.
  std::vector<std::string> names(const json::Object &object,
                                 llvm::StringRef key, uint64_t count) {
    std::vector<std::string> result;
    const json::Array *array = object.getArray(key);
    if (!array || array->size() != count)
      return fail("'" + key.str() + "' is no list of " + std::to_string(count) +
                  " strings"),
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
    manifest.sendSegments = number(root, "sendSegments", 1, Limits::chunks);
    manifest.layout = list<RankLayout>(
        root, "layout", manifest.ranks, manifest.ranks,
        [&](const json::Object &object) { return readLayout(object); });
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

  RankLayout readLayout(const json::Object &object) {
    RankLayout layout;
    layout.inputSegments = number(object, "inputSegments", 0, Limits::chunks);
    layout.outputSegments = number(object, "outputSegments", 0, Limits::chunks);
    if (!object.get("inPlaceOffset"))
      return layout;
    std::optional<int64_t> offset = object.getInteger("inPlaceOffset");
    int64_t most = Limits::chunks;
    if (!offset || *offset < -most || *offset > most)
      fail("'inPlaceOffset' is no number of segments");
    else
      layout.inPlaceOffset = int(*offset);
    return layout;
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
    readChunks(*object, "pre", &RankLayout::inputSegments, conditions.pre);
    readChunks(*object, "post", &RankLayout::outputSegments, conditions.post);
  }

  /// The chunks of each rank, one for each segment of its buffer.
  void readChunks(const json::Object &object, llvm::StringRef key,
                  unsigned RankLayout::*segments,
                  std::vector<std::vector<unsigned>> &chunks) {
    const json::Array *array = object.getArray(key);
    if (!array || array->size() != manifest.ranks) {
      fail("'" + key.str() + "' is no list of chunks per rank");
      return;
    }
    for (const json::Value &value : *array) {
      std::vector<unsigned> &mine = chunks.emplace_back();
      int64_t next = 0;
      for (const json::Value &entry : elementsOf(value)) {
        std::optional<int64_t> chunk = entry.getAsInteger();
        if (!chunk || *chunk < next || *chunk >= manifest.conditions->distinct)
          return void(fail("'" + key.str() + "' has no ascending chunks"));
        mine.push_back(unsigned(*chunk));
        next = *chunk + 1;
      }
      unsigned rank = chunks.size() - 1;
      if (rank >= manifest.layout.size() ||
          mine.size() != manifest.layout[rank].*segments)
        return void(fail("'" + key.str() + "' differs from 'layout'"));
    }
  }

  static llvm::ArrayRef<json::Value> elementsOf(const json::Value &value) {
    const json::Array *array = value.getAsArray();
    if (!array)
      return {};
    return {array->data(), array->size()};
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
    manifest.programs = list<ProgramInfo>(
        root, "programs", 1, Limits::entries,
        [&](const json::Object &object) { return readProgram(object); });
    if (!error.empty())
      return;
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

  ProgramInfo readProgram(const json::Object &object) {
    ProgramInfo program;
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
    program.ranks = list<RankNeeds>(
        object, "ranks", manifest.ranks, manifest.ranks,
        [&](const json::Object &entry) {
          RankNeeds needs;
          needs.channels = number(entry, "channels", 0, Limits::entries);
          needs.scratchSlots = number(entry, "scratchSlots", 0, Limits::slots);
          needs.controlBytes =
              number(entry, "controlBytes", 0, Limits::controlBytes);
          return needs;
        });
    if (error.empty())
      readCopies(object, program);
    return program;
  }

  void readCopies(const json::Object &object, ProgramInfo &program) {
    unsigned steps =
        number(object, "steps", 0, std::min(Limits::steps, stepsLeft));
    stepsLeft -= steps;
    program.copies.resize(steps);
    list<unsigned>(object, "copies", 0, steps ? Limits::copies : 0,
                   [&](const json::Object &entry) {
                     unsigned step = number(entry, "step", 0, steps - 1);
                     program.copies[step].push_back(readCopy(entry, program));
                     return step;
                   });
  }

  /// A copy that stays within the buffers that a launch prepares, whatever the
  /// size of segments.
  EngineCopy readCopy(const json::Object &object, const ProgramInfo &program) {
    unsigned perSegment = manifest.schedules[program.schedule].chunksPerSegment;
    EngineCopy copy;
    copy.executor = number(object, "executor", 0, manifest.ranks - 1);
    copy.position = number(object, "position", 0, perSegment - 1);
    copy.count = number(object, "count", 1, perSegment - copy.position);
    auto readSlot = [&](const std::string &end, unsigned &rank,
                        unsigned &buffer, unsigned &slot) {
      rank = number(object, end + "Rank", 0, manifest.ranks - 1);
      buffer = number(object, end + "Buffer", 0, 2);
      const RankLayout &layout = manifest.layout[rank];
      uint64_t slots =
          buffer == 2
              ? program.ranks[rank].scratchSlots
              : perSegment * uint64_t(buffer == 0 ? layout.inputSegments
                                                  : layout.outputSegments);
      if (slots < copy.count) {
        fail("a copy has more chunks than its buffer");
        return;
      }
      slot = number(object, end + "Slot", 0, slots - copy.count);
      if (buffer != 2 && slot % perSegment != copy.position)
        fail("a copy has two positions in a segment");
    };
    readSlot("src", copy.srcRank, copy.srcBuffer, copy.srcSlot);
    readSlot("dst", copy.dstRank, copy.dstBuffer, copy.dstSlot);
    if (copy.executor != copy.srcRank)
      fail("a copy is done by another rank than that of its source");
    if (copy.dstBuffer == 0)
      fail("a copy goes to a send buffer");
    // Where the caller's buffers are depends on what peers do with them.
    if (copy.dstBuffer == 1 && copy.dstRank != copy.srcRank &&
        !program.peersTouchOutput)
      fail("a copy goes to a receive buffer that peers leave alone");
    return copy;
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
    if (blobs.empty())
      fail("there is a kernel, but no blob");
    else
      kernel.blob = number(object, "blob", 0, blobs.size() - 1);
    return kernel;
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
      fail("'path' is neither auto, direct nor bounce");
    else
      choice.path = *path;
    choice.pieceBytes = number(object, "pieceBytes", 0, uint64_t(1) << 40);
    return choice;
  }

  void checkOrder(const SizeTable &table) {
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

/// True if brackets in `text` nest no deeper than the limit: LLVM's parser
/// would run out of stack.
static bool isShallow(llvm::StringRef text) {
  unsigned depth = 0;
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
        return false;
    } else if (c == '}' || c == ']') {
      depth -= depth > 0;
    }
  }
  return true;
}

Result<Manifest> plan::parseManifest(llvm::StringRef text,
                                     std::vector<BlobRange> &blobs) {
  if (!isShallow(text))
    return Error{"the manifest is broken: it nests deeper than " +
                 std::to_string(Limits::manifestDepth)};
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return Error{"the manifest is no JSON: " +
                 llvm::toString(value.takeError())};
  const json::Object *root = value->getAsObject();
  if (!root)
    return Error{"the manifest is no JSON object"};
  return ManifestReader(*root, blobs).read();
}
