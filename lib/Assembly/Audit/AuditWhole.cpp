//===- AuditWhole.cpp - Rules for a text as a whole -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AuditRules.h"

#include "sccl/ABI/RankTable.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::assembly;
using llvm::StringRef;

/// What flags need is called; what nobody calls LLVM would have left out,
/// except for the helpers of flags, which are there in any case.
static void auditCalls(const Text &text, llvm::ArrayRef<StringRef> calls,
                       bool hasFlags, std::vector<AuditFinding> &findings) {
  // The kernel of tables must be able to do whatever a table may say.
  hasFlags |= llvm::any_of(text.functions, [](const Function &each) {
    return each.isKernel && each.name == tableFunction;
  });
  if (hasFlags)
    for (StringRef name : {helper::begin, helper::signal, helper::wait})
      if (!llvm::is_contained(calls, name))
        findings.push_back(
            {"D2", "", 1, "",
             "there is a table of flags, but nothing calls @" + name.str()});
  for (StringRef callee : calls)
    if (llvm::none_of(text.functions,
                      [&](auto &each) { return each.name == callee; }))
      findings.push_back(
          {"P1", "", 1, "", "calls @" + callee.str() + ", which is not there"});
  for (const Function &function : text.functions) {
    bool isOptional = function.name == helper::signal ||
                      function.name == helper::wait ||
                      function.name == helper::begin;
    if (!function.isKernel && !isOptional &&
        !llvm::is_contained(calls, function.name))
      findings.push_back({"P1", function.name, function.line,
                          function.text.str(), "nothing calls it"});
  }
}

void assembly::auditWhole(const Text &text, llvm::ArrayRef<StringRef> calls,
                          bool hasFlags, std::vector<AuditFinding> &findings) {
  if (text.functions.empty()) {
    findings.push_back({"P1", "", 1, "", "no function to audit"});
    return;
  }
  if (text.cutOffLine) {
    findings.push_back(
        {"P1", "", text.cutOffLine, "", "the text ends in the middle"});
    return;
  }
  if (llvm::none_of(text.functions,
                    [](const Function &each) { return each.isKernel; }))
    findings.push_back({"P1", "", 1, "", "no kernel to audit"});
  auditCalls(text, calls, hasFlags, findings);
}

std::string AuditFinding::str() const {
  std::string result = check + ": " + message;
  if (!function.empty())
    result += ", in @" + function + ": " + text;
  return result;
}

std::string AuditFault::countText() const {
  if (others.empty())
    return "";
  return "and " + std::to_string(others.size()) + " more like it";
}

std::vector<AuditFault>
sccl::faultsOf(const std::vector<AuditFinding> &findings) {
  std::vector<AuditFault> faults;
  for (const AuditFinding &finding : findings) {
    auto known = llvm::find_if(faults, [&](const AuditFault &fault) {
      return fault.first.check == finding.check &&
             fault.first.message == finding.message;
    });
    if (known == faults.end())
      faults.push_back({finding, {}});
    else
      known->others.push_back(finding);
  }
  return faults;
}
