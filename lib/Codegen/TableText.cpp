//===- TableText.cpp - Tables of ranks as data in assembly ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TableText.h"

#include "sccl/ABI/RankTable.h"
#include "sccl/Conversion/RankTables.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace sccl;
using llvm::raw_ostream;

/// Prints the words [`first`, `last`) of `table`.
static void printWords(raw_ostream &stream, llvm::StringRef table, size_t first,
                       size_t last) {
  for (size_t word = first; word < last; ++word)
    stream << (word == first ? "" : ", ")
           << llvm::support::endian::read32le(table.data() + 4 * word);
}

static void printForNVIDIA(raw_ostream &stream, llvm::StringRef symbol,
                           llvm::StringRef table) {
  size_t words = table.size() / 4;
  stream << ".visible .global .align " << tableUnitBytes << " .b32 " << symbol
         << '[' << words << "] = {";
  printWords(stream, table, 0, words);
  stream << "};\n";
}

static void printForAMD(raw_ostream &stream, llvm::StringRef symbol,
                        llvm::StringRef table) {
  constexpr size_t unitWords = tableUnitBytes / 4;
  stream << "\t.type\t" << symbol << ",@object\n\t.data\n\t.globl\t" << symbol
         << "\n\t.balign\t" << tableUnitBytes << '\n'
         << symbol << ":\n";
  for (size_t word = 0; word < table.size() / 4; word += unitWords) {
    stream << "\t.long\t";
    printWords(stream, table, word, word + unitWords);
    stream << '\n';
  }
  stream << "\t.size\t" << symbol << ", " << table.size() << '\n';
}

void sccl::appendTables(std::string &isa, const Chip &chip,
                        llvm::StringRef program,
                        llvm::ArrayRef<std::string> tables) {
  llvm::raw_string_ostream stream(isa);
  for (unsigned rank = 0; rank < tables.size(); ++rank) {
    std::string symbol = tableSymbol(program, rank);
    if (chip.isNVIDIA())
      printForNVIDIA(stream, symbol, tables[rank]);
    else
      printForAMD(stream, symbol, tables[rank]);
  }
}
