//===- TextLimits.cpp - What MLIR's parser has stack for ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/TextLimits.h"

#include "sccl/Model/Text.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;

/// The end of the comment or string that begins at `at`; `at` if none does.
static size_t skipText(llvm::StringRef text, size_t at) {
  if (text.substr(at).starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  if (text[at] != '"')
    return at;
  // A string ends with its line even if it lacks its quote.
  for (size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '"')
      return i + 1;
    i += text[i] == '\\';
  }
  return std::min(text.find('\n', at), text.size());
}

/// True for the '<' and '>' of arrows and comparisons.
static bool isNoBracket(llvm::StringRef text, size_t at) {
  bool isArrow = text[at] == '>' && at > 0 && text[at - 1] == '-';
  bool isCompared = at + 1 < text.size() && text[at + 1] == '=';
  return isArrow || isCompared;
}

namespace {
/// What is too much, and where.
struct Excess {
  size_t at;
  std::string what;
};

/// Counts as it goes through a text.
class Counts {
public:
  /// Takes the character at `at`; returns what there is too much of then.
  std::optional<std::string> take(llvm::StringRef text, size_t at) {
    char c = text[at];
    bool isArrow = text.substr(at).starts_with("->");
    if (isArrow || ((c == '<' || c == '>') && isNoBracket(text, at)))
      return std::nullopt;
    switch (c) {
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > maxNesting)
        return "brackets nest more than " + std::to_string(maxNesting) +
               " deep";
      break;
    // What is closed too often is for the parser to report.
    case ')':
    case ']':
    case '}':
    case '>':
      depth -= depth > 0;
      break;
    case '+':
    case '-':
    case '*':
      if (++signs > maxSigns)
        return "an expression has more than " + std::to_string(maxSigns) +
               " signs";
      break;
    }
    // None of these is within an expression.
    if (llvm::StringRef("{},=:").contains(c))
      signs = 0;
    return std::nullopt;
  }

private:
  unsigned depth = 0, signs = 0;
};
} // namespace

/// The first place where there is too much of something.
static std::optional<Excess> findExcess(llvm::StringRef text) {
  Counts counts;
  for (size_t i = 0;
       (i = text.find_first_of("/\"([{<)]}>+-*,=:", i)) != text.npos; ++i) {
    if (size_t end = skipText(text, i); end != i)
      i = end - 1;
    else if (std::optional<std::string> what = counts.take(text, i))
      return Excess{i, std::move(*what)};
  }
  return std::nullopt;
}

/// Ends the process like any other program when it crashes, or hangs.
static void crashSilently() {
  for (int signal :
       {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGALRM})
    std::signal(signal, SIG_DFL);
  int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  alarm(maxBytecodeSeconds);
}

/// Reads `source`, and leaves it to the caller to do so again for the errors.
static void readForTrial(llvm::MemoryBufferRef source) {
  mlir::DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  mlir::Block block;
  (void)mlir::readBytecodeFile(source, &block, mlir::ParserConfig(&context));
}

/// True if MLIR's reader gets through `source`: a child process tries. What it
/// finds wrong does not matter.
static bool isReadable(llvm::MemoryBufferRef source) {
  pid_t child = fork();
  if (child == 0) {
    crashSilently();
    readForTrial(source);
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool sccl::checkText(llvm::MemoryBufferRef source) {
  std::string name = escapeControls(source.getBufferIdentifier());
  if (mlir::isBytecode(source)) {
    if (isReadable(source))
      return true;
    llvm::errs()
        << name
        << ": error: MLIR cannot read this bytecode: it is damaged, or "
           "no process could be started\n";
    return false;
  }
  llvm::StringRef text = source.getBuffer();
  std::optional<Excess> excess = findExcess(text);
  if (!excess)
    return true;
  llvm::StringRef before = text.substr(0, excess->at);
  // The line itself may be very long.
  llvm::errs() << name << ':' << before.count('\n') + 1 << ':'
               << excess->at - (before.rfind('\n') + 1) + 1
               << ": error: " << excess->what << '\n';
  return false;
}
