//===- Version.cpp - What is compiled in ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "sccl/Model/Chip.h"
#include "sccl/Plan/Plan.h"
#include "sccl/sccl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/Targets.h"

#include <CbcConfig.h>
#include <ClpConfig.h>
#include <bliss/defs.hh>
#include <cadical.hpp>
#include <gmp.h>
#include <hwloc.h>
#include <json/version.h>
#include <protozero/version.hpp>
#include <pugixml.hpp>
#ifdef SCCL_HAS_Z3
#include <z3_version.h>
#endif

using namespace sccl;
using namespace sccl::driver;
namespace json = llvm::json;

/// A number as 10204 for 1.2.4.
static std::string dotted(unsigned version, unsigned base) {
  return llvm::utostr(version / base / base) + "." +
         llvm::utostr(version / base % base) + "." +
         llvm::utostr(version % base);
}

/// The version of each library that the tool is built with.
static json::Object libraries() {
  json::Object all{
      {"llvm", SCCL_LLVM_VERSION},
      {"libsccl", dotted(SCCL_VERSION_CODE, 100)},
      {"bliss", bliss::version},
      {"cadical",
       llvm::StringRef(CaDiCaL::Solver::signature()).split('-').second.str()},
      {"clp", CLP_VERSION},
      {"cbc", CBC_VERSION},
      {"gmp", gmp_version},
      {"hwloc", dotted(HWLOC_API_VERSION, 256)},
      {"jsoncpp", JSONCPP_VERSION_STRING},
      {"protozero", PROTOZERO_VERSION_STRING},
      {"pugixml", llvm::utostr(PUGIXML_VERSION / 1000) + "." +
                      llvm::utostr(PUGIXML_VERSION % 1000 / 10)}};
#ifdef SCCL_HAS_Z3
  all["z3"] = Z3_FULL_VERSION;
#endif
  return all;
}

/// What --target takes: CPUs, messages, and the chips that LLVM has a back end
/// for.
static json::Array targets() {
  json::Array all{"x86-64", "x86-64-v3", "mpi"};
  for (const Chip &chip : allChips()) {
#if !LLVM_HAS_NVPTX_TARGET
    if (chip.isNVIDIA())
      continue;
#endif
#if !LLVM_HAS_AMDGPU_TARGET
    if (!chip.isNVIDIA())
      continue;
#endif
    all.push_back(llvm::StringRef(chip.name));
  }
  return all;
}

void driver::printVersion(llvm::raw_ostream &stream) {
  auto words = rememberedArguments();
  bool asJSON = llvm::any_of(
      words, [](llvm::StringRef word) { return word == "--json"; });
  if (!asJSON) {
    stream << "sccl " SCCL_VERSION ", LLVM " SCCL_LLVM_VERSION "\n";
    return;
  }
  json::Array launchers;
  for (llvm::StringRef mpi : llvm::split(SCCL_MPI_NAMES, ' '))
    if (!mpi.empty())
      launchers.push_back(mpi);
  json::Object all{{"name", "sccl"},
                   {"version", SCCL_VERSION},
                   {"plan_format", plan::formatVersion},
                   {"targets", targets()},
                   {"mpi", std::move(launchers)},
                   {"libraries", libraries()}};
  stream << json::Value(std::move(all)) << '\n';
}
