//===- Overview.cpp - The subcommands by task -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Overview.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace sccl::driver;
namespace cl = llvm::cl;
using llvm::StringRef;

// test/Tools/help.test runs the examples, one after the other.
static constexpr CommandEntry toAsk[] = {
    {"machine", "sccl machine --import=box.txt -o box.mlir"},
    {"plan", "sccl plan --machine=box.mlir --collective=all_reduce "
             "--target=host -o ar.sccl"},
    {"pareto", "sccl pareto --machine=dgx1 --collective=all_gather"},
    {"synth", "sccl synth --machine=dgx1 --collective=all_gather --chunks=6 "
              "--steps=3 --rounds=7 -o ag.mlir"},
};
static constexpr CommandEntry toLook[] = {
    {"explain", "sccl explain ar.sccl --bytes=1MiB"},
    {"simulate", "sccl simulate ag.mlir --to=1MiB"},
    {"check", "sccl check ag.mlir"},
};
static constexpr CommandEntry toMake[] = {
    {"compile", "sccl compile ag.mlir --target=sm_90 -o ag.ptx"},
};
static constexpr CommandEntry toRun[] = {
    {"run", "sccl run ag.mlir --bytes=1MiB"},
    {"bench", "sccl bench ar.sccl --to=1MiB"},
    {"demo", "sccl demo -o demo"},
};
static constexpr CommandEntry toExchange[] = {
    {"convert", "sccl convert ag.mlir ag.xml"},
};
static constexpr Task allTasks[] = {
    {"Ask", toAsk},
    {"Look", toLook},
    {"Make", toMake},
    {"Run", toRun},
    {"Exchange with other tools", toExchange},
};

llvm::ArrayRef<Task> sccl::driver::tasks() { return allTasks; }

cl::SubCommand &sccl::driver::findCommand(StringRef name) {
  return **llvm::find_if(
      cl::getRegisteredSubcommands(),
      [&](cl::SubCommand *command) { return command->getName() == name; });
}

std::string sccl::driver::summaryOf(const cl::SubCommand &command) {
  return command.getDescription().split(". ").first.str();
}

bool sccl::driver::asksForOverview(int argc, char **argv) {
  return argc == 2 && llvm::is_contained({"--help", "-help", "-h", "help"},
                                         StringRef(argv[1]));
}

void sccl::driver::printOverview(llvm::raw_ostream &stream) {
  stream << "sccl: optimal collective algorithms for your interconnect\n\n"
            "usage: sccl COMMAND [OPTIONS] [FILES]\n";
  for (const Task &task : tasks()) {
    stream << '\n' << task.name << ":\n";
    for (const CommandEntry &entry : task.commands)
      stream << llvm::formatv("  {0,-9} {1}\n            {2}\n", entry.name,
                              summaryOf(findCommand(entry.name)),
                              entry.example);
  }
  stream << "\n'sccl COMMAND --help' lists the options of a command, and "
            "--help-hidden\nthe rare ones, too. 'sccl --version' says what is "
            "compiled in.\n\nExit codes: 0 done, 1 bad input or failed check, "
            "2 proved unsatisfiable,\n3 unknown (time or memory)\n";
}

std::string sccl::driver::commandInPlaceOf(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("topo", "sccl machine")
      .Case("profile", "sccl machine --measure")
      .Case("baseline", "sccl synth --algorithm=ring")
      .Case("inspect", "sccl explain --contents")
      .Case("report", "sccl explain -o PAGE.html")
      .Case("plot", "sccl explain --picture=KIND -o FILE.svg")
      .Case("cost", "sccl simulate --model")
      .Case("tune", "sccl bench --tune")
      .Default("")
      .str();
}

std::string sccl::driver::optionInPlaceOf(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("topology", "--machine")
      .Case("processes", "--ranks-as=processes")
      .Default("")
      .str();
}
