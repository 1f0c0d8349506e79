//===- Page.cpp - A report as one HTML file -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pictures are drawn here, as sccl explain does; the script in Page/page.js
// fills in the words and moves the chunks.
//
//===----------------------------------------------------------------------===//

#include "sccl/Report/Page.h"

#include "Assets.h"
#include "Layout.h"
#include "Template.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace sccl;
using namespace sccl::report;

static std::string titleOf(const Subject &subject) {
  return describe(subject.collective) + " on " + subject.topology.name() +
         ", " + std::to_string(subject.topology.numRanks()) + " ranks";
}

std::string report::titleOfPoint(const Subject &subject,
                                 const Explanation &explanation) {
  return subject.name + ": " + describeSize(subject) +
         (explanation.isOptimal ? ", optimal" : "");
}

namespace {
class DataWriter {
public:
  DataWriter(llvm::raw_ostream &stream, const PageContents &contents);
  void write();

private:
  void write(const Subject &subject, const Explanation &explanation);
  void writeUses(const Subject &subject);
  void writeLoads(const Subject &subject, const Explanation &explanation);
  void writeStep(const Step &step);
  void writeList(const char *name, const std::vector<std::string> &texts);
  void writeMeasured();

  llvm::json::OStream json;
  const PageContents &contents;
  const Subject &first;
  Layout layout;
  size_t mostChunks; ///< of a move that are listed
};
} // namespace

/// Ranks that a page can show one by one.
static constexpr unsigned mostRanks = 64;

DataWriter::DataWriter(llvm::raw_ostream &stream, const PageContents &contents)
    : json(stream), contents(contents), first(contents.subjects.front()),
      layout(layOut(first.topology, contents.boxes, nullptr)),
      mostChunks(first.topology.numRanks() <= mostRanks ? 32 : 3) {}

void DataWriter::writeList(const char *name,
                           const std::vector<std::string> &texts) {
  json.attributeArray(name, [&] {
    for (const std::string &text : texts)
      json.value(text);
  });
}

/// By arc: chunks, and the part of the rounds in which it is busy, in percent.
void DataWriter::writeUses(const Subject &subject) {
  Layout loaded = layOut(subject.topology, contents.boxes, &subject);
  json.attributeArray("uses", [&] {
    for (const auto &[ends, arc] : loaded.arcs)
      if (arc.chunks > 0)
        json.array([&, ends = ends, &arc = arc] {
          json.value(ends.first);
          json.value(ends.second);
          json.value(arc.chunks);
          json.value(std::lround(100 * arc.use));
        });
  });
}

/// The limits from the fullest on, those of one load as a row: how many, the
/// first of them, chunks and rounds.
void DataWriter::writeLoads(const Subject &subject,
                            const Explanation &explanation) {
  constexpr size_t mostRows = 16;
  constexpr ptrdiff_t mostNames = 4;
  const std::vector<LimitLoad> &loads = explanation.loads;
  json.attributeArray("loads", [&] {
    size_t rows = 0;
    for (auto first = loads.begin(); first != loads.end() && rows < mostRows;
         ++rows) {
      auto end = std::find_if(first, loads.end(), [&](const LimitLoad &load) {
        return load.chunks != first->chunks || load.rounds != first->rounds;
      });
      std::string names;
      for (auto load = first; load != end && load - first < mostNames; ++load)
        names +=
            (load == first ? "" : "; ") +
            nameOf(subject.topology, subject.topology.limits()[load->limit]);
      json.array([&] {
        json.value(int64_t(end - first));
        json.value(names + (end - first > mostNames ? "; ..." : ""));
        json.value(first->chunks);
        json.value(first->rounds.str());
      });
      first = end;
    }
  });
}

/// What goes from one spot to another, as [from, to, chunks, the first of them,
/// whether they are reduced].
void DataWriter::writeStep(const Step &step) {
  std::map<std::pair<unsigned, unsigned>, std::vector<const Send *>> moves;
  for (const Send &send : step.sends) {
    unsigned src = layout.spotOf[send.src], dst = layout.spotOf[send.dst];
    if (src != dst)
      moves[{src, dst}].push_back(&send);
  }
  json.object([&] {
    json.attribute("rounds", step.rounds);
    json.attribute("sends", step.sends.size());
    json.attributeArray("moves", [&] {
      for (const auto &[ends, sends] : moves)
        json.array([&, ends = ends, &sends = sends] {
          json.value(ends.first);
          json.value(ends.second);
          json.value(sends.size());
          json.array([&] {
            for (size_t i = 0; i < std::min(mostChunks, sends.size()); ++i)
              json.value(sends[i]->chunk);
          });
          json.value(sends.front()->action == SendAction::Reduce ? 1 : 0);
        });
    });
  });
}

void DataWriter::write(const Subject &subject, const Explanation &explanation) {
  json.object([&] {
    json.attribute("name", subject.name);
    json.attribute("size", describeSize(subject));
    json.attribute("cost", subject.cost().bandwidth.str());
    json.attribute("rounds", subject.schedule.rounds());
    json.attribute("optimal", explanation.isOptimal);
    json.attribute("point", titleOfPoint(subject, explanation));
    writeList("limits", limitSentences(subject, explanation, contents.model,
                                       contents.bytes));
    writeList("faster", remedySentences(subject, explanation, contents.model,
                                        contents.bytes));
    writeList("certificate", certificateSentences(subject, explanation));
    writeUses(subject);
    writeLoads(subject, explanation);
    json.attributeArray("steps", [&] {
      for (const Step &step : subject.schedule.steps)
        writeStep(step);
    });
  });
}

void DataWriter::writeMeasured() {
  json.attributeArray("measured", [&] {
    for (const MeasuredRow &row : contents.measured)
      json.array([&] {
        for (const std::string *text :
             {&row.size, &row.time, &row.timesBound, &row.source})
          json.value(*text);
      });
  });
}

void DataWriter::write() {
  json.object([&] {
    json.attribute("title", titleOf(first));
    json.attribute("clock", printable(contents.clock));
    json.attribute("chunksOfSegment", first.collective.chunksPerSegment());
    json.attributeArray("spots", [&] {
      for (const Spot &spot : layout.spots)
        json.value(spot.name);
    });
    json.attributeArray("hubs", [&] {
      for (unsigned hub : layout.hubOf)
        json.value(hub);
    });
    json.attributeArray("schedules", [&] {
      for (size_t i = 0; i < contents.subjects.size(); ++i)
        write(contents.subjects[i], contents.explanations[i]);
    });
    writeMeasured();
  });
}

/// No text may end the element that holds it.
static std::string dataOf(const PageContents &contents) {
  std::string text, safe;
  llvm::raw_string_ostream stream(text);
  DataWriter(stream, contents).write();
  for (char c : text)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

std::string report::pageText(const PageContents &contents) {
  const Topology &topology = contents.subjects.front().topology;
  return fillIn(assets::pageText(),
                {{"HEAD", pageHead(titleOf(contents.subjects.front()))},
                 {"PAGE_SCRIPT", assets::pageScript()},
                 {"GRAPH", machinePicture(topology, contents.boxes, nullptr,
                                          PictureFor::Page)},
                 {"FRONTIER", frontierPicture(contents.marks, contents.anySteps,
                                              PictureFor::Page)},
                 {"TIME", timePicture(contents.curves, PictureFor::Page)},
                 {"DATA", dataOf(contents)}});
}
