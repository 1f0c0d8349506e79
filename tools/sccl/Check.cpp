//===- Check.cpp - sccl check ---------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "CheckMsccl.h"
#include "Driver.h"
#include "Output.h"
#include "PlanSet.h"
#include "Progress.h"
#include "TopologyNotes.h"

#include "sccl/Analysis/HappensBefore.h"
#include "sccl/Assembly/Audit.h"
#include "sccl/Check/Certificate.h"
#include "sccl/Codegen/Target.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Litmus/Axioms.h"
#include "sccl/Litmus/Protocol.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Pipelines/InputFile.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"

using namespace sccl;
using namespace sccl::driver;

/// True if `path` is called like a file of litmus tests.
static bool isLitmusFile(llvm::StringRef path) {
  return path.ends_with(".litmus");
}

static void printJson(const litmus::Program &program,
                      const litmus::Answer &answer) {
  llvm::json::Object object{{"litmus", program.name},
                            {"verdict", spellingOf(answer.verdict)},
                            {"candidates", answer.candidates}};
  if (program.expected)
    object["expected"] = spellingOf(*program.expected);
  if (!answer.execution.empty())
    object["execution"] = llvm::json::Array(answer.execution);
  llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
}

/// True if the verdict is the expected one, or none is expected. If not, shows
/// the program if `shows`.
static bool reportVerdict(const litmus::Program &program,
                          const litmus::Answer &answer, bool json, bool shows) {
  bool fits = !program.expected || *program.expected == answer.verdict;
  if (json) {
    printJson(program, answer);
    return fits;
  }
  out() << "litmus \"" << program.name << "\": " << spellingOf(answer.verdict);
  if (!fits)
    out() << ", where " << spellingOf(*program.expected) << " is expected";
  out() << '\n';
  if (!fits && shows)
    out() << printLitmus(program);
  if (!fits || !program.expected)
    for (const std::string &line : answer.execution)
      out() << "  " << line << '\n';
  return fits;
}

/// The verdicts of `programs`, which are from the file `path`.
static int checkPrograms(llvm::ArrayRef<litmus::Program> programs,
                         llvm::StringRef path, bool json, bool shows = false) {
  unsigned failed = 0;
  bool isKnown = true;
  for (const litmus::Program &program : programs) {
    Result<litmus::Answer> answer = litmus::check(program);
    if (!answer)
      return fail(path + ":" + llvm::Twine(program.line) +
                  ":1: " + answer.error());
    isKnown &= answer->verdict != litmus::Verdict::Unknown;
    failed += !reportVerdict(program, *answer, json, shows);
  }
  llvm::outs().flush(); // so that the error comes last
  if (!isKnown)
    return NotKnown;
  if (failed)
    return fail(path + ": " + llvm::Twine(failed) + " of " +
                llvm::Twine(programs.size()) +
                " litmus tests have another verdict than expected");
  return Done;
}

using ProgramReader = Result<std::vector<litmus::Program>>(llvm::StringRef);

/// The programs that `read` makes of the text in `path`. Prints an error and
/// returns nothing if it cannot.
static std::optional<std::vector<litmus::Program>>
readPrograms(llvm::StringRef path, ProgramReader &read) {
  auto buffer = readInput(path);
  if (!buffer) {
    fail(buffer.error());
    return std::nullopt;
  }
  Result<std::vector<litmus::Program>> programs = read((*buffer)->getBuffer());
  if (!programs) {
    fail(path + ":" + programs.error());
    return std::nullopt;
  }
  return std::move(*programs);
}

/// Prints the verdict of each litmus test in `path`, and an execution where it
/// is not what the file expects. Returns BadInput if there is such a test.
static int checkLitmus(llvm::StringRef path, bool json) {
  auto programs = readPrograms(path, litmus::readLitmus);
  return programs ? checkPrograms(*programs, path, json) : BadInput;
}

/// The same for the flag protocol as the PTX in `path` performs it, which must
/// never go wrong. Shows a litmus test that does.
static int checkProtocol(llvm::StringRef path, bool json) {
  auto programs = readPrograms(path, litmus::protocolOf);
  return programs ? checkPrograms(*programs, path, json, /*shows=*/true)
                  : BadInput;
}

namespace cl = llvm::cl;

static cl::SubCommand command(
    "check",
    "Check schedules, programs, assembly, files of MSCCL, sets of them, or "
    "litmus tests");
static cl::opt<std::string> input(cl::Positional, cl::desc("FILE|DIR"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string>
    certificateFile("certificate", cl::desc("Verify this lower bound, too"),
                    cl::value_desc("FILE.cert"), cl::sub(command));
static cl::opt<std::string>
    dotFile("dot",
            cl::desc("Write the order of events of the program, as a graph"),
            cl::value_desc("FILE.dot"), cl::sub(command));
static MscclFlags mscclFlags(command);
static cl::opt<std::string> machineName(
    "machine",
    cl::desc("Of an .xml or .json: that its schedule runs there, too"),
    cl::value_desc("NAME|FILE"), cl::sub(command));
static cl::opt<bool>
    litmusOfPTX("litmus",
                cl::desc("Of PTX, check the flag protocol that it performs "
                         "against the axioms of the memory model"),
                cl::sub(command));
static cl::opt<bool> json("json", cl::desc("Print results as JSON"),
                          cl::sub(command));

bool driver::checkChosen() { return bool(command); }

/// Prints an error if an option was given that is for schedules only.
static bool hasNoOptionsOfSchedules(llvm::StringRef what) {
  std::string option = findGiven({&certificateFile, &dotFile});
  if (!option.empty())
    fail(option + " is not for " + what);
  return option.empty();
}

int driver::checkMain() {
  if (litmusOfPTX && outputKindOf(input) != OutputKind::PTX)
    return fail("--litmus is for PTX, .ptx");
  if (isAlgorithmFile(input)) {
    if (!hasNoOptionsOfSchedules("files of MSCCL"))
      return BadInput;
    return machineName.getNumOccurrences()
               ? checkAlgorithmOn(input, machineName, mscclFlags, json)
               : checkAlgorithm(input, mscclFlags, json);
  }
  std::string option = mscclFlags.findGiven();
  if (machineName.getNumOccurrences())
    option = "--machine";
  if (!option.empty())
    return fail(option + " is for files of other tools, .xml and .json");
  if (llvm::sys::fs::is_directory(input))
    return hasNoOptionsOfSchedules("sets of files") ? checkSetIn(input, json)
                                                    : BadInput;
  if (isLitmusFile(input))
    return hasNoOptionsOfSchedules("litmus tests") ? checkLitmus(input, json)
                                                   : BadInput;
  if (litmusOfPTX)
    return hasNoOptionsOfSchedules("PTX") ? checkProtocol(input, json)
                                          : BadInput;
  std::optional<OutputKind> kind = outputKindOf(input);
  bool isAssembly = kind == OutputKind::PTX || kind == OutputKind::GCN;
  if (isAssembly && !hasNoOptionsOfSchedules("assembly"))
    return BadInput;
  return checkFile(input, json, certificateFile, dotFile);
}

static std::string pipeliningText(const Schedule &schedule,
                                  const Collective &collective) {
  if (!schedule.isPipelined())
    return "";
  return ", pipelined with load " +
         pipelinedCostOf(schedule, collective).load.str();
}

/// What has been checked, one line or object each.
static void report(coll::ScheduleOp op, bool json) {
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
  Schedule schedule = coll::importSchedule(op);
  Cost cost = costOf(schedule, problem->collective);
  noteUnlimitedLinks(problem->topology);
  if (json) {
    llvm::json::Object object{{"schedule", op.getSymName()},
                              {"topology", problem->topology.name()},
                              {"collective", problem->collective.name()},
                              {"chunks", problem->collective.chunks()},
                              {"steps", cost.steps},
                              {"rounds", schedule.rounds()},
                              {"status", "accepted"}};
    if (schedule.isPipelined())
      object["period"] = schedule.period;
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
  } else {
    out() << "schedule @" << op.getSymName() << ": accepted, "
          << problem->collective.name() << " on " << problem->topology.name()
          << ", " << problem->collective.chunks() << " chunks, " << cost.steps
          << " steps, " << schedule.rounds()
          << " rounds, R/C = " << cost.bandwidth.str()
          << pipeliningText(schedule, problem->collective) << '\n';
  }
}

static void report(coll::ProgramOp op, bool json) {
  if (json)
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"program", op.getSymName()}, {"status", "accepted"}})
                 << '\n';
  else
    out() << "program @" << op.getSymName() << ": accepted\n";
}

/// Writes what happens before what in the only one of `programs` to `path`.
template <typename Programs>
static bool writeGraph(Programs programs, llvm::StringRef path) {
  size_t count = std::distance(programs.begin(), programs.end());
  if (count != 1) {
    fail("--dot is for one program, and there are " + llvm::Twine(count) +
         "; sccl-opt --sccl-lower makes them of schedules");
    return false;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  return succeeded(coll::printHappensBefore(*programs.begin(), stream)) &&
         writeFile(path, text);
}

/// True if no schedule with as many steps is cheaper, says `certificate`; or
/// none has a smaller load, if it is about pipelined ones.
static bool isOptimalBy(const Certificate &certificate,
                        const Schedule &schedule,
                        const Collective &collective) {
  if (certificate.steps.value_or(schedule.steps.size()) !=
          schedule.steps.size() ||
      checkOrder(collective, schedule, certificate.order))
    return false;
  if (certificate.pipelined)
    return schedule.isPipelined() &&
           certificate.bound == pipelinedCostOf(schedule, collective).load;
  return certificate.bound == costOf(schedule, collective).bandwidth;
}

/// Says, as JSON too, why the certificate in `path` is refused. Returns false.
static bool refuseCertificate(llvm::StringRef path, llvm::StringRef message,
                              llvm::StringRef reason, bool json) {
  if (json)
    llvm::outs() << llvm::json::Value(llvm::json::Object{{"certificate", path},
                                                         {"message", reason},
                                                         {"status", "refused"}})
                 << '\n';
  fail(message);
  return false;
}

/// Verifies the claim in `path` for the problem of `op`, and says what it is
/// worth for the schedule.
static bool checkClaim(coll::ScheduleOp op, llvm::StringRef path, bool json) {
  auto buffer = readInput(path);
  if (!buffer) {
    fail(buffer.error());
    return false;
  }
  llvm::StringRef text = (*buffer)->getBuffer();
  Result<Certificate> certificate =
      parseCertificate({text.data(), text.size()});
  if (!certificate)
    return refuseCertificate(path, (path + ":" + certificate.error()).str(),
                             certificate.error(), json);
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
  if (std::optional<std::string> reason = checkCertificate(
          *certificate, problem->topology, problem->collective)) {
    std::string message = "the certificate does not hold: " + *reason + " (A2)";
    return refuseCertificate(path, (path + ": " + message).str(), message,
                             json);
  }
  bool optimal =
      isOptimalBy(*certificate, coll::importSchedule(op), problem->collective);
  std::string claim = claimText(*certificate, problem->collective.name());
  if (json)
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"certificate", path},
                                           {"claim", claim},
                                           {"schedule", op.getSymName()},
                                           {"optimal", optimal},
                                           {"status", "accepted"}})
                 << '\n';
  else
    out() << "certificate " << path << ": accepted, " << claim << '\n'
          << "schedule @" << op.getSymName()
          << (optimal ? " is optimal for its steps\n"
                      : " is not proved optimal by it\n");
  return true;
}

/// Audits the flags in a file of PTX or GCN assembly.
static int checkAssembly(llvm::StringRef path, OutputKind kind, bool json) {
  auto buffer = readInput(path);
  if (!buffer)
    return fail(buffer.error());
  llvm::StringRef text = (*buffer)->getBuffer();
  std::vector<AuditFinding> findings = kind == OutputKind::PTX
                                           ? auditPTX(text)
                                           : auditGCN(text, chipOfGCN(text));
  for (const AuditFault &fault : faultsOf(findings)) {
    if (json)
      llvm::outs() << llvm::json::Value(
                          llvm::json::Object{{"file", path},
                                             {"line", fault.first.line},
                                             {"message", fault.first.str()},
                                             {"status", "refused"}})
                   << '\n';
    fail(path + ":" + llvm::Twine(fault.first.line) + ": " + fault.first.str());
    if (!fault.others.empty())
      llvm::WithColor::note(llvm::errs(), "sccl") << fault.countText() << '\n';
  }
  if (!findings.empty())
    return BadInput;
  if (json)
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"assembly", path}, {"status", "accepted"}})
                 << '\n';
  else
    out() << "assembly " << path << ": accepted\n";
  return Done;
}

namespace {
/// Prints errors as JSON, too, besides what else is done with them.
class RefusalPrinter {
public:
  RefusalPrinter(mlir::MLIRContext &context, llvm::StringRef path)
      : path(path), handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            print(diagnostic);
          return mlir::failure(); // leaves it to the others
        }) {}

private:
  void print(mlir::Diagnostic &diagnostic) {
    llvm::json::Object object{
        {"file", path}, {"message", diagnostic.str()}, {"status", "refused"}};
    if (auto place =
            mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation())) {
      object["line"] = place.getLine();
      object["column"] = place.getColumn();
    }
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
  }

  llvm::StringRef path;
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace

int driver::checkFile(llvm::StringRef path, bool json,
                      llvm::StringRef certificate, llvm::StringRef dot) {
  std::optional<OutputKind> kind = outputKindOf(path);
  if (kind == OutputKind::PTX || kind == OutputKind::GCN)
    return checkAssembly(path, *kind, json);
  std::optional<Progress> progress(std::in_place, ("checking " + path).str());
  Session session;
  std::optional<RefusalPrinter> refusals;
  if (json)
    refusals.emplace(session.context(), path);
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(path);
  if (!module || isOnlyWiring(*module, path))
    return BadInput;
  auto schedules = module->getOps<coll::ScheduleOp>();
  auto programs = module->getOps<coll::ProgramOp>();
  if (schedules.empty() && programs.empty())
    return fail(path + " holds no schedule and no program");
  if (!certificate.empty() && schedules.empty())
    return fail(path + " holds no schedule for the certificate to be about");
  if (failed(runPasses(*module, [](mlir::OpPassManager &manager) {
        manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
        manager.addNestedPass<coll::ProgramOp>(coll::createCheckProgram());
      })))
    return BadInput;
  progress.reset();
  for (coll::ScheduleOp op : schedules)
    report(op, json);
  for (coll::ProgramOp op : programs)
    report(op, json);
  if (!dot.empty() && !writeGraph(programs, dot))
    return BadInput;
  if (certificate.empty())
    return Done;
  for (coll::ScheduleOp op : schedules)
    if (!checkClaim(op, certificate, json))
      return BadInput;
  return Done;
}
