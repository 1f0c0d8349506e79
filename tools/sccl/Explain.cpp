//===- Explain.cpp - sccl explain -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "Arguments.h"
#include "Plans.h"

#include "sccl/Plan/SizeTables.h"
#include "sccl/Report/Explanation.h"
#include "sccl/Report/TablesPage.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;

static PageTable schedulesOf(const plan::Manifest &manifest) {
  PageTable table{"Schedules", {"name", "C", "S", "R", "R/C"}, {}};
  for (const plan::ScheduleInfo &schedule : manifest.schedules)
    table.rows.push_back({schedule.name, std::to_string(schedule.chunks),
                          std::to_string(schedule.steps),
                          std::to_string(schedule.rounds), schedule.cost});
  return table;
}

/// The chips that there is code for, of a program.
static std::string targetsOf(const plan::Manifest &manifest, unsigned program) {
  std::set<std::string> targets;
  for (const plan::KernelInfo &kernel : manifest.kernels)
    if (kernel.program == program)
      targets.insert(kernel.target);
  return llvm::join(targets, ", ");
}

static PageTable programsOf(const plan::Manifest &manifest) {
  PageTable table{"Programs",
                  {"number", "schedule", "variant", "code", "blocks", "for"},
                  {}};
  for (auto [number, program] : llvm::enumerate(manifest.programs))
    table.rows.push_back(
        {std::to_string(number), manifest.schedules[program.schedule].name,
         program.variant, program.codeShape, std::to_string(program.blocks),
         targetsOf(manifest, number)});
  return table;
}

static PageTable choicesOf(const plan::Manifest &manifest,
                           const plan::SizeTable &sizes) {
  PageTable table{"Choices by size of a send buffer, " +
                      sourceOf(manifest, sizes),
                  {"from", "schedule", "program", "variant", "buffers"},
                  {}};
  for (const plan::SizeChoice &choice : sizes.choices) {
    const plan::ProgramEntry &program = manifest.programs[choice.program];
    table.rows.push_back({formatBytes(choice.firstByte),
                          manifest.schedules[program.schedule].name,
                          std::to_string(choice.program), program.variant,
                          plan::pathName(choice.path).str()});
  }
  return table;
}

/// What was advised for each size, by what the program that serves it takes.
static PageTable adviceOf(const plan::SizeTable &sizes) {
  PageTable table{"Advised", {"size", "us", "bound us", "gap", "program"}, {}};
  for (const SizedTime &time : advisedTimes(sizes)) {
    double gap = double(time.nanoseconds) / double(time.bound) - 1;
    table.rows.push_back(
        {formatBytes(time.bytes),
         llvm::formatv("{0:f1}", time.nanoseconds * 1e-3),
         llvm::formatv("{0:f1}", time.bound * 1e-3),
         time.bound ? llvm::formatv("{0:P0}", std::max(gap, 0.0)).str() : "",
         std::to_string(choiceFor(sizes, double(time.bytes))->program)});
  }
  return table;
}

/// What no program takes less than, as far as that is known.
static TimeCurve boundOf(const plan::SizeTable &sizes) {
  TimeCurve curve{"bound", /*isLine=*/true, {}};
  for (const SizedTime &time : advisedTimes(sizes))
    if (time.bytes > 0 && time.bound > 0)
      curve.points.emplace_back(double(time.bytes), time.bound * 1e-3);
  return curve;
}

static TimeCurve curveOf(const plan::Manifest &manifest,
                         const plan::SizeTable &sizes) {
  TimeCurve curve{
      sourceOf(manifest, sizes), /*isLine=*/sizes.target.empty(), {}};
  for (const SizedTime &time : sizes.times)
    if (time.bytes > 0)
      curve.points.emplace_back(double(time.bytes), time.nanoseconds * 1e-3);
  return curve;
}

static TablesPage pageOf(llvm::StringRef path, const plan::Manifest &manifest) {
  TablesPage page;
  page.title = manifest.collective + " on " + manifest.topology + ", " +
               std::to_string(manifest.ranks) + " ranks";
  page.summary =
      (llvm::sys::path::filename(path) + ", made by " + manifest.generator +
       ". For the machine, the steps and the bounds, ask sccl explain or sccl "
       "plot about the plan, or name the schedules that it was compiled of.")
          .str();
  for (const plan::ScheduleInfo &schedule : manifest.schedules)
    page.marks.push_back(
        {"schedules", schedule.name + ", R/C = " + schedule.cost,
         double(schedule.steps), double(schedule.rounds) / schedule.chunks});
  page.tables = {schedulesOf(manifest), programsOf(manifest)};
  for (const plan::SizeTable &sizes : manifest.tables) {
    page.tables.push_back(choicesOf(manifest, sizes));
    page.curves.push_back(curveOf(manifest, sizes));
    if (PageTable table = adviceOf(sizes); !table.rows.empty())
      page.tables.push_back(std::move(table));
    if (TimeCurve bound = boundOf(sizes); !bound.points.empty())
      page.curves.push_back(std::move(bound));
  }
  return page;
}

/// Writes what the plan at `path` says of itself, as a page, to `output`.
/// Returns an exit code; prints an error if it is not Done.
static int reportPlan(llvm::StringRef path, llvm::StringRef output) {
  std::optional<LoadedPlan> plan = loadPlan(path);
  if (!plan)
    return BadInput;
  return writeFile(output, tablesPageText(pageOf(path, plan->view.manifest)))
             ? Done
             : BadInput;
}

namespace cl = llvm::cl;

static cl::SubCommand
    command("explain",
            "Say what limits a schedule, plan or measurement and why "
            "it was chosen; in words, as a page or as a picture");
static cl::list<std::string>
    inputs(cl::Positional,
           cl::desc("FILE.mlir|FILE.xml|FILE.json|FILE.sccl|DIR..."),
           cl::sub(command));
static cl::opt<std::string>
    bytesText("bytes", cl::desc("Size of one send buffer, e.g. 4100 or 1MiB"),
              usually("1MiB"), cl::sub(command));
static cl::opt<std::string> machineName(
    "machine",
    cl::desc("How fast the links are, in place of --alpha and --bandwidth; on "
             "pages whose boxes they are; what --picture=machine draws"),
    cl::value_desc("NAME|FILE"), cl::sub(command));
static PictureFlags flags(command);
static cl::opt<std::string>
    sum("sum",
        cl::desc("Print how element K of an output is added up, for --bytes: "
                 "by which ranks, in which steps; of rank R or of all"),
        cl::value_desc("K[@R]"), cl::sub(command));
static cl::opt<Element> element("element",
                                cl::desc("Type of the elements, for --sum"),
                                usually(Element::F32), cl::sub(command));
static cl::opt<Reduction>
    reduction("reduction",
              cl::desc("What is done with the elements, for --sum: sum or avg"),
              usually(Reduction::Sum), cl::sub(command));
static cl::opt<SumOrder>
    order("order", cl::desc("Order of summation of schedules, for --sum"),
          usually(SumOrder()), cl::sub(command));
static cl::opt<bool>
    oneRounding("one-rounding",
                cl::desc("Of schedules, round each sum to the type once, for "
                         "--sum"),
                cl::sub(command));
static cl::opt<Wire>
    wire("wire",
         cl::desc("Of schedules, the type of partial sums, for --sum: element "
                  "or f32"),
         usually(Wire::Element), cl::sub(command));
static cl::opt<bool> contents("contents", cl::desc("Print what a plan holds"),
                              cl::sub(command));
static cl::opt<PictureKind> picture(
    "picture", cl::desc("Draw this"), cl::init(PictureKind::None),
    cl::sub(command),
    cl::values(
        clEnumValN(PictureKind::Machine, "machine",
                   "Ranks, links and their loads"),
        clEnumValN(PictureKind::Frontier, "frontier",
                   "R/C over S: schedules, certified bounds, NCCL's ring"),
        clEnumValN(PictureKind::Time, "time",
                   "Time over size: bound, model and measurements"),
        clEnumValN(PictureKind::Steps, "steps",
                   "A schedule as ranks and steps"),
        clEnumValN(PictureKind::Trees, "trees", "The ways of single chunks")));
static cl::opt<unsigned> trees("trees", cl::desc("Chunks that are drawn"),
                               usually(8), cl::sub(command), cl::Hidden);
static cl::opt<std::string>
    output("o", cl::desc("Write a page, or the picture of --picture, here"),
           cl::value_desc("FILE.html|FILE.svg|FILE.png"), cl::sub(command));
static cl::opt<bool> json("json", cl::desc("Print one JSON object per line"),
                          cl::sub(command));

bool driver::explainChosen() { return bool(command); }

static int explainContents() {
  std::string idle =
      findGiven({&bytesText, &machineName, &picture, &trees, &output});
  if (idle.empty())
    idle = flags.findGiven();
  if (!idle.empty())
    return fail(idle + " is not for --contents");
  if (inputs.size() != 1)
    return fail("--contents is of one plan, and there are " +
                llvm::Twine(inputs.size()) + " files");
  return printContents(inputs.front(), json);
}

/// A plan goes on a page of its own, which no option changes.
static int explainPlanOnPage(const ExplainRequest &request) {
  if (inputs.size() > 1)
    return fail("a plan, as '" + *llvm::find_if(inputs, isPlanFile) +
                "', goes on a page of its own");
  std::string idle = findGiven({&machineName, &bytesText});
  if (idle.empty())
    idle = flags.findGiven();
  if (!idle.empty())
    return fail(idle + " needs the schedules that a plan was compiled of");
  return checkWritable(request.output)
             ? reportPlan(inputs.front(), request.output)
             : BadInput;
}

/// An option that says how schedules are lowered for --sum, if one is given.
static std::string findSumOption() {
  return findGiven({&element, &reduction, &order, &oneRounding, &wire});
}

/// How one element is added up.
static int explainOneSum(uint64_t bytes) {
  std::string idle =
      findGiven({&machineName, &picture, &trees, &output, &contents});
  if (idle.empty())
    idle = flags.findGiven();
  if (!idle.empty())
    return fail(idle + " is not for --sum");
  if (inputs.size() != 1)
    return fail("--sum is of one schedule or plan, and there are " +
                llvm::Twine(inputs.size()) + " files");
  if (std::string given = findSumOption();
      !given.empty() && isPlanFile(inputs.front()))
    return fail(given + " is for schedules, and '" + inputs.front() +
                "' is compiled already");
  SumRequest request{inputs.front(), 0, std::nullopt, bytes, json};
  auto [number, rank] = llvm::StringRef(sum).split('@');
  unsigned ofRank = 0;
  bool hasRank = llvm::StringRef(sum).contains('@');
  if (number.getAsInteger(10, request.element) ||
      (hasRank && rank.getAsInteger(10, ofRank)))
    return fail("--sum is '" + sum +
                "', expected the number of an element, "
                "and a rank if it is one, as 17 or 17@3");
  if (hasRank)
    request.rank = ofRank;
  request.lowering.element = element;
  request.lowering.reduction = reduction;
  request.lowering.sumOrder = order;
  request.lowering.oneRounding = oneRounding;
  request.lowering.wire = wire;
  return explainSum(request);
}

/// What is wrong with the options for the form that is asked for; empty if
/// nothing is.
static std::string findMistake() {
  if (std::string idle = findSumOption(); !idle.empty())
    return idle + " is for --sum";
  bool isDrawn = picture != PictureKind::None;
  bool isFile = isDrawn || output.getNumOccurrences();
  if (json && isFile)
    return "--json is for an explanation in words, and not for pictures and "
           "pages";
  if (isDrawn && bytesText.getNumOccurrences())
    return "--bytes is not for --picture";
  if (picture != PictureKind::Trees && trees.getNumOccurrences())
    return "--trees is for --picture=trees";
  if (isFile)
    return "";
  std::string idle = flags.findOfFiles();
  return idle.empty() ? "" : idle + " is for pages and pictures: -o";
}

int driver::explainMain() {
  if (contents)
    return explainContents();
  if (inputs.empty() && picture == PictureKind::None)
    return fail("no schedule and no plan is given; try: sccl explain --help");
  std::optional<uint64_t> bytes = readBytes("--bytes", bytesText);
  if (!bytes)
    return BadInput;
  if (*bytes == 0)
    return fail("--bytes must be at least 1");
  if (sum.getNumOccurrences())
    return explainOneSum(*bytes);
  if (std::string mistake = findMistake(); !mistake.empty())
    return fail(mistake);
  std::optional<CostModel> model = flags.model();
  std::optional<std::vector<uint64_t>> sizes = flags.sizes();
  if (!model || !sizes)
    return BadInput;
  ExplainRequest request{{inputs.begin(), inputs.end()},
                         *bytes,
                         machineName,
                         flags,
                         *model,
                         std::move(*sizes),
                         output.empty() ? "-" : output.getValue(),
                         json};
  if (picture != PictureKind::None)
    return drawPicture(request, picture, trees);
  if (!output.getNumOccurrences())
    return explainInWords(request);
  return llvm::any_of(inputs, isPlanFile) ? explainPlanOnPage(request)
                                          : writePage(request);
}
