//===- CheckLitmus.cpp - Litmus tests, from files and from PTX ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckLitmus.h"

#include "Driver.h"
#include "Output.h"

#include "sccl/Litmus/Axioms.h"
#include "sccl/Litmus/Protocol.h"
#include "sccl/Pipelines/InputFile.h"

using namespace sccl;
using namespace sccl::driver;

bool driver::isLitmusFile(llvm::StringRef path) {
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

int driver::checkLitmus(llvm::StringRef path, bool json) {
  auto programs = readPrograms(path, litmus::readLitmus);
  return programs ? checkPrograms(*programs, path, json) : BadInput;
}

int driver::checkProtocol(llvm::StringRef path, bool json) {
  auto programs = readPrograms(path, litmus::protocolOf);
  return programs ? checkPrograms(*programs, path, json, /*shows=*/true)
                  : BadInput;
}
