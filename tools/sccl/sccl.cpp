//===- sccl.cpp - The driver for people -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Driver.h"
#include "Output.h"
#include "Overview.h"

#include "sccl/Measure/Ranks.h"
#include "sccl/Optimize/Constant.h"
#include "sccl/Options/Help.h"
#include "sccl/Options/Log.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Solver/Makers.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"

#include <optional>

using namespace sccl::driver;

namespace cl = llvm::cl;

static cl::opt<std::string> manual("manual", cl::value_desc("DIR"),
                                   cl::desc("Write man pages here"));
static cl::opt<std::string>
    completion("completion", cl::value_desc("SHELL"),
               cl::desc("Print completions for bash, zsh or fish"));

/// The subcommands, by name; `top` has none.
static std::vector<cl::SubCommand *> subcommands() {
  std::vector<cl::SubCommand *> found;
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (!command->getName().empty())
      found.push_back(command);
  llvm::sort(found,
             [](auto *a, auto *b) { return a->getName() < b->getName(); });
  return found;
}

/// The options that --help lists, or those that --help-hidden adds, by name.
static std::vector<cl::Option *>
optionsOf(cl::SubCommand &command, cl::OptionHidden flag = cl::NotHidden) {
  std::vector<cl::Option *> found;
  for (auto &&entry : cl::getRegisteredOptions(command)) {
    cl::Option *option = entry.second;
    bool isOfLLVM = option->ArgStr.starts_with("help") ||
                    option->ArgStr.starts_with("print-");
    if (option->getOptionHiddenFlag() == flag && option->hasArgStr() &&
        option->getFormattingFlag() != cl::Positional && !isOfLLVM)
      found.push_back(option);
  }
  llvm::sort(found, [](auto *a, auto *b) { return a->ArgStr < b->ArgStr; });
  return found;
}

static std::string flagOf(const cl::Option &option) {
  return (option.ArgStr.size() == 1 ? "-" : "--") + option.ArgStr.str();
}

/// What stands for the option's value, such as FILE; empty if it has none.
static std::string valueOf(const cl::Option &option) {
  if (!option.ValueStr.empty())
    return option.ValueStr.str();
  return option.getValueExpectedFlag() == cl::ValueRequired ? "value" : "";
}

/// Text as roff has it.
static std::string roff(llvm::StringRef text) {
  std::string result;
  for (char letter : text) {
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
  }
  // A line that begins with one of these would be a request.
  bool isRequest = !result.empty() && (result[0] == '.' || result[0] == '\'');
  return isRequest ? "\\&" + result : result;
}

static std::string optionEntry(const cl::Option &option) {
  std::string text = ".TP\n.B " + roff(flagOf(option));
  std::string value = valueOf(option);
  if (!value.empty() && option.getValueExpectedFlag() == cl::ValueOptional)
    text += "\\fR[=\\fI" + roff(value) + "\\fR]";
  else if (!value.empty())
    text += "\\fR=\\fI" + roff(value) + "\\fR";
  return text + "\n" + roff(option.HelpStr) + "\n";
}

static std::string pageHead(llvm::StringRef name, llvm::StringRef summary) {
  return ".TH " + name.upper() +
         " 1 \"\" \"sccl " SCCL_VERSION "\"\n.SH NAME\n" + roff(name) +
         " \\- " + roff(summary) + "\n";
}

static const char *const exitCodes =
    ".SH EXIT STATUS\n0 done, 1 bad input or failed check, 2 proved\n"
    "unsatisfiable, 3 unknown (time or memory)\n";

static std::string pageOf(cl::SubCommand &command) {
  std::string name = "sccl-" + command.getName().str();
  std::string text = pageHead(name, summaryOf(command));
  text += ".SH SYNOPSIS\n.B sccl " + roff(command.getName()) +
          "\n[\\fIoptions\\fR] [\\fIfiles\\fR]\n.SH DESCRIPTION\n" +
          roff(command.getDescription()) + "\n.SH OPTIONS\n";
  for (cl::Option *option : optionsOf(command))
    text += optionEntry(*option);
  std::vector<cl::Option *> rare = optionsOf(command, cl::Hidden);
  if (!rare.empty())
    text += ".SH RARE OPTIONS\n";
  for (cl::Option *option : rare)
    text += optionEntry(*option);
  return text + exitCodes + ".SH SEE ALSO\n.BR sccl (1)\n";
}

static std::string mainPage() {
  std::string text =
      pageHead("sccl", "optimal collective algorithms for your interconnect");
  text += ".SH SYNOPSIS\n.B sccl\n\\fIsubcommand\\fR [\\fIoptions\\fR]\n"
          ".SH SUBCOMMANDS\n";
  for (const Task &task : tasks()) {
    text += ".SS " + roff(task.name) + "\n";
    for (const CommandEntry &entry : task.commands)
      text += ".TP\n.BR sccl\\-" + roff(entry.name) + " (1)\n" +
              roff(summaryOf(findCommand(entry.name))) + "\n.br\n.B " +
              roff(entry.example) + "\n";
  }
  return text + exitCodes;
}

static int writePages(const std::string &folder) {
  if (!makeFolder(folder))
    return BadInput;
  if (!writeFile(folder + "/sccl.1", mainPage()))
    return BadInput;
  for (cl::SubCommand *command : subcommands())
    if (!writeFile(folder + "/sccl-" + command->getName().str() + ".1",
                   pageOf(*command)))
      return BadInput;
  return Done;
}

static std::string wordsOf(cl::SubCommand &command) {
  return llvm::join(
      llvm::map_range(optionsOf(command),
                      [](cl::Option *option) {
                        bool takesValue = !valueOf(*option).empty();
                        return flagOf(*option) + (takesValue ? "=" : "");
                      }),
      " ");
}

/// For bash, and for zsh with bashcompinit.
static std::string bashScript() {
  std::string names, cases;
  for (cl::SubCommand *command : subcommands()) {
    names += (names.empty() ? "" : " ") + command->getName().str();
    cases += "  " + command->getName().str() + ") words=\"" +
             wordsOf(*command) + "\" ;;\n";
  }
  return "_sccl() {\n  local word=${COMP_WORDS[COMP_CWORD]} words\n"
         "  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         " --help --version\" -- \"$word\"))\n    return\n  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n  case $word in\n"
         "  -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "      [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace ;;\n"
         "  *) local IFS=$'\\n' # names of files have spaces\n"
         "     COMPREPLY=($(compgen -f -- \"$word\")) ;;\n  esac\n}\n"
         "complete -o filenames -F _sccl sccl\n";
}

/// Text within single quotes.
static std::string shellQuoted(llvm::StringRef text) {
  std::string result = "'";
  for (char letter : text)
    result += letter == '\'' ? std::string("\\'") : std::string(1, letter);
  return result + "'";
}

static std::string fishScript() {
  std::string text;
  for (cl::SubCommand *command : subcommands()) {
    std::string name = command->getName().str();
    text += "complete -c sccl -n __fish_use_subcommand -a " + name + " -d " +
            shellQuoted(summaryOf(*command)) + "\n";
    for (cl::Option *option : optionsOf(*command))
      text += "complete -c sccl -n '__fish_seen_subcommand_from " + name +
              "' " + (option->ArgStr.size() == 1 ? "-s " : "-l ") +
              option->ArgStr.str() + " -d " + shellQuoted(option->HelpStr) +
              "\n";
  }
  return text;
}

static int printCompletion(llvm::StringRef shell) {
  if (shell == "bash")
    llvm::outs() << bashScript();
  else if (shell == "zsh")
    llvm::outs() << "#compdef sccl\nautoload -U +X bashcompinit && "
                    "bashcompinit\n"
                 << bashScript();
  else if (shell == "fish")
    llvm::outs() << fishScript();
  else
    return fail("unknown shell '" + shell + "'; known: bash, zsh, fish");
  return Done;
}

/// Does what --manual or --completion asks for, from the table that --help
/// prints, and returns the exit code; nothing if neither is there.
static std::optional<int> writeManual() {
  if (!manual.empty())
    return writePages(manual);
  if (!completion.empty())
    return printCompletion(completion);
  return std::nullopt;
}

/// Lets every subcommand take MLIR's options for looking at passes.
static void registerPassOptions() {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  for (auto &&entry : llvm::cl::getRegisteredOptions())
    if (entry.first.starts_with("mlir-"))
      for (llvm::cl::SubCommand *command : llvm::cl::getRegisteredSubcommands())
        if (!command->getName().empty())
          llvm::cl::getRegisteredOptions(*command)[entry.first] = entry.second;
}

int main(int argc, char **argv) {
  rememberArguments(argc, argv);
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("");
  sccl::registerPipelinePasses();
  registerPassOptions();
  sccl::registerLogOption();
  sccl::hideForeignOptions({"manual", "completion"});
  llvm::cl::SetVersionPrinter(printVersion);
  if (asksForOverview(argc, argv)) {
    printOverview(llvm::outs());
    return sccl::afterFlush(Done);
  }
  if (!parseArguments(argc, argv))
    return BadInput;
  if (std::string_view name = sccl::unknownMaker(); !name.empty())
    return fail("SCCL_WITHOUT_MAKER: there is no maker '" + std::string(name) +
                "', docs/Makers.md lists them");
  if (std::string error = sccl::badConstant(); !error.empty())
    return fail("SCCL_CONSTANT: " + error);
  if (std::optional<int> code = writeManual())
    return sccl::afterFlush(*code);
  using Subcommand = std::pair<bool (*)(), int (*)()>;
  for (auto [chosen, run] :
       {Subcommand{machineChosen, machineMain},
        Subcommand{planChosen, planMain}, Subcommand{paretoChosen, paretoMain},
        Subcommand{synthChosen, synthMain},
        Subcommand{explainChosen, explainMain},
        Subcommand{simulateChosen, simulateMain},
        Subcommand{checkChosen, checkMain},
        Subcommand{compileChosen, compileMain}, Subcommand{runChosen, runMain},
        Subcommand{benchChosen, benchMain},
        Subcommand{convertChosen, convertMain},
        Subcommand{demoChosen, demoMain}})
    if (chosen())
      return sccl::afterFlush(run());
  return fail("no subcommand given; try sccl --help");
}
