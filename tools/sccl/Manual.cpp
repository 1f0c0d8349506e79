//===- Manual.cpp - Man pages and completions -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Manual.h"

#include "Driver.h"
#include "Output.h"
#include "Overview.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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

std::optional<int> sccl::driver::writeManual() {
  if (!manual.empty())
    return writePages(manual);
  if (!completion.empty())
    return printCompletion(completion);
  return std::nullopt;
}
