//===- Driver.h - What the subcommands of sccl share ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_DRIVER_H
#define SCCL_TOOLS_SCCL_DRIVER_H

#include "sccl/Dialect/Coll/Way.h"
#include "sccl/Machine/Machine.h"
#include "sccl/Model/CostModel.h"
#include "sccl/Model/Instance.h"
#include "sccl/Model/RankGroups.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Solver/Pipelined.h"
#include "sccl/Solver/Solver.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <string>

namespace sccl {
struct Timing;
} // namespace sccl

namespace sccl::driver {

/// Exit codes of every subcommand.
enum ExitCode {
  Done = 0,
  BadInput = 1, ///< also a failed check or a wrong result
  ProvedUnsatisfiable = 2,
  NotKnown = 3, ///< time or memory ran out, or interrupted
};

/// The command line of the process.
void rememberArguments(int argc, char **argv);
llvm::ArrayRef<const char *> rememberedArguments();

/// What --version prints: a line, or with --json the libraries and targets that
/// are compiled in.
void printVersion(llvm::raw_ostream &stream);

/// Prints "sccl: error: MESSAGE" and returns BadInput.
int fail(const llvm::Twine &message);

/// The text in the file at `path`, of bounded length and nesting, so that
/// parsers that call themselves have stack for it. Prints an error and returns
/// null if there is none.
std::unique_ptr<llvm::MemoryBuffer> readText(llvm::StringRef path);

/// A topology that schedules of other tools are put on, whose files do not say
/// how fast links are; and what messages call it.
struct Placement {
  std::string name;
  Topology topology;
};

class MscclFlags;

/// A context that knows all dialects, and prints diagnostics with the source
/// line they are about.
class Session {
public:
  Session();
  ~Session();
  mlir::MLIRContext &context() { return mlirContext; }
  /// Parses and verifies a file ("-" is standard input), one per session.
  /// Prints errors.
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef path);
  /// The same for what may be a file of another tool, .xml or .json: the
  /// schedule that it follows, on the links that it uses, each of bandwidth 1,
  /// or on `placement`. Prints what such a file leaves open. Files that are
  /// `isOnlyWiring` are errors.
  mlir::OwningOpRef<mlir::ModuleOp>
  parseSchedules(llvm::StringRef path, const Placement *placement = nullptr,
                 const MscclFlags *flags = nullptr);
  /// The same of a text, that `name` stands for in messages.
  mlir::OwningOpRef<mlir::ModuleOp> parseText(llvm::StringRef text,
                                              llvm::StringRef name);

private:
  mlir::OwningOpRef<mlir::ModuleOp>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  mlir::MLIRContext mlirContext;
  llvm::SourceMgr sourceManager;
  struct Handler;
  std::unique_ptr<Handler> handler;
};

/// True, after an error, if there are topologies and machines and nothing else.
bool isOnlyWiring(mlir::ModuleOp module, llvm::StringRef path);

/// What a topology was derived from.
struct Origin {
  std::optional<Machine> machine; ///< if there is one
  std::vector<std::string> notes; ///< where the topology is not the machine
};

/// How ranks are linked: a machine, a topology, or both where a file holds
/// both.
struct Wiring {
  std::optional<Machine> machine;
  std::optional<Topology> topology;
  RankGroups boxes;  ///< of the topology: all ranks are in one if it names none
  std::string where; ///< "FILE:LINE:COLUMN: " of what is in a file
};

/// Reads what --machine names: a machine or topology that `sccl machine` lists,
/// or an .mlir file with one. Prints an error and returns nothing on failure.
std::optional<Wiring> loadWiring(llvm::StringRef spec);
/// The topology of `wiring`, or that derived from its machine. Prints an error
/// and returns nothing if there is none. `where`, if given, becomes
/// "FILE:LINE:COLUMN: " for messages about a topology in a file; `boxes`, if
/// given, the ranks of each box, or all in one where neither a machine nor the
/// topology says; `origin`, if given, what it was derived from, of which the
/// notes are printed on standard error else; `groups`, if they take part in
/// what a machine does, the text of --group.
std::optional<Topology> topologyOf(Wiring wiring, std::string *where = nullptr,
                                   RankGroups *boxes = nullptr,
                                   Origin *origin = nullptr,
                                   const std::string &groups = "");
/// loadWiring() and topologyOf() in one.
std::optional<Topology> loadTopology(llvm::StringRef spec,
                                     std::string *where = nullptr,
                                     RankGroups *boxes = nullptr,
                                     Origin *origin = nullptr,
                                     const std::string &groups = "");

/// The kind that `spelling` names. Prints an error with the list of names and
/// returns nothing if there is none.
std::optional<CollectiveKind> parseCollective(llvm::StringRef spelling);

/// True if `name` is an engine, or "auto". Prints an error if it is not.
bool checkEngineName(llvm::StringRef name);
/// False, after an error, if one of these is given, and the engine does not
/// look at it.
bool checkEngineOptions(llvm::StringRef engine, const llvm::cl::Option *seed,
                        const llvm::cl::Option *memory);

/// Writes to a temporary file and renames it, or into a device or pipe; "-" is
/// standard output. A file that is replaced leaves its permissions. Prints an
/// error on failure.
bool writeFile(llvm::StringRef path, llvm::StringRef contents);

/// True if a file of this name can be written, to find out before work is done
/// for it. Prints an error if not.
bool checkWritable(llvm::StringRef path);

/// A module as text, without verifying it.
std::string moduleText(mlir::ModuleOp module);
/// The text of a module with `schedule` and its topology, which says which
/// ranks share one of several `boxes`, and how fast it is if that is known. An
/// empty `certificate` is none; without `ways` a tree of the instance is said
/// by one; without a `name` the schedule is called as its collective is.
std::string scheduleText(const Instance &instance, const RankGroups &boxes,
                         const Schedule &schedule,
                         llvm::StringRef certificate = "",
                         llvm::ArrayRef<coll::Way> ways = {},
                         const Timing *timing = nullptr,
                         llvm::StringRef name = "");

/// The fields that every result of a synthesis has.
llvm::json::Object resultObject(const Instance &instance,
                                const SynthesisResult &result);

/// Parses "1MiB", "64KB", "4100": a number of bytes with a decimal (KB, MB, GB,
/// TB) or binary (K, KiB, M, MiB, G, GiB, T, TiB) unit.
std::optional<uint64_t> parseBytes(llvm::StringRef text);
/// The sizes from `from` to `upTo`, each four times the one before. Prints an
/// error and returns nothing if they make no sense.
std::optional<std::vector<uint64_t>> sizesByFour(llvm::StringRef from,
                                                 llvm::StringRef upTo);
/// True if `microseconds` is from 0 to 1e9, so that sums of many are finite.
bool isLatency(double microseconds);
/// True if `gigabytes` is from 1e-6 to 1e9: what bytes take then is finite.
bool isBandwidth(double gigabytes);
/// The model of what --alpha and --bandwidth say. Prints an error and returns
/// nothing if they make no sense.
std::optional<CostModel> makeCostModel(double alpha, double bandwidth);
/// "1.5 MiB".
std::string formatBytes(uint64_t bytes);

/// The options of lowering that are on the command line, with what they say by
/// default or without: what a call would ignore is refused.
using GivenOptions = std::vector<const LoweringOptionRow *>;
/// "--NAME" for the first that says what is reduced how; empty if none does.
std::string findOfReductions(const GivenOptions &given);

/// One measurement of a compiled schedule; also the last part of the demo.
struct RunRequest {
  std::string path;
  uint64_t bytes = 1 << 20;
  LoweringOptions lowering = {}; ///< with the element type and the reduction
  GivenOptions given = {};       ///< of them; the element type is that of data
  unsigned iterations = 10;
  double timeoutSeconds = 60;
  bool json = false;
  bool inPlace = false;
  std::string trace = ""; ///< file for what ranks do when
};

struct SynthesisRequest {
  std::string machine; ///< empty: as the options say
  std::string collective, groups, engine = "auto", encoding = "direct";
  std::vector<unsigned> chunks; ///< one, or one per rank for all_gatherv
  unsigned steps = 0, rounds = 0;
  SumOrder order = {};
  std::optional<unsigned> root;
  double timeoutSeconds = 0;
  unsigned memoryMiB = 0, seed = 0;
  bool json = false;
  bool frontiers = true; ///< of batches: whether rows are on the true frontier
  std::string output, certificate;

  /// As loadTopology().
  std::optional<Topology> topology(std::string *where, RankGroups *boxes) const;
};
int synthesizeSchedule(const SynthesisRequest &request);
/// The pipelined schedule of the least load; of `request` the topology, the
/// collective, its root, the steps if not 0, the time limit and what is to be
/// written count.
int synthesizePipelinedSchedule(const SynthesisRequest &request);
/// A pipelined schedule as JSON, and as a line without its end.
llvm::json::Object pipelinedObject(const Topology &topology,
                                   const PipelinedSchedule &result,
                                   double seconds);
std::string pipelinedText(const PipelinedSchedule &result);
/// One synthesis per row of the CSV file `path`, with the engine and limits of
/// `defaults`. Done if each row has an answer, be it that there is no schedule;
/// BadInput if one failed, else NotKnown if one is open.
int synthesizeBatch(llvm::StringRef path, const SynthesisRequest &defaults);
/// True if --algorithm was given: NCCL's ring or tree is asked for.
bool isBaseline();
/// "--NAME" for the first option beside it that was given; empty if none was.
std::string findBaselineOption();
/// Writes that algorithm; of `request` the machine, the collective, its root
/// and the output count.
int writeBaseline(const SynthesisRequest &request);
/// The instance that is asked for; prints an error and returns nothing if there
/// is none. `boxes`, if given, as of loadTopology().
std::optional<Instance> makeInstance(const SynthesisRequest &request,
                                     RankGroups *boxes = nullptr);
/// The engine's options that are asked for, likewise.
std::optional<SolverOptions> solverOptions(const SynthesisRequest &request);

/// Checks what is in `path`: schedules and programs, or the flags in assembly
/// if the name ends in .ptx or .s. If `certificate` is not empty, also the
/// claim in that file for each schedule; if `dot` is not, writes the graph of
/// the only program there.
int checkFile(llvm::StringRef path, bool json, llvm::StringRef certificate = "",
              llvm::StringRef dot = "");

struct CompileRequest {
  std::string path, target, output;
  LoweringOptions lowering = {};
  GivenOptions given = {};
};
int compileFile(const CompileRequest &request);

/// The subcommand that was chosen does its work.
bool machineChosen();
int machineMain();
bool planChosen();
int planMain();
bool paretoChosen();
int paretoMain();
bool synthChosen();
int synthMain();
bool explainChosen();
int explainMain();
bool simulateChosen();
int simulateMain();
bool checkChosen();
int checkMain();
bool compileChosen();
int compileMain();
bool runChosen();
int runMain();
bool benchChosen();
int benchMain();
bool convertChosen();
int convertMain();
bool demoChosen();
int demoMain();

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_DRIVER_H
