//===- CollDialect.td - The coll dialect -------------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COLL_DIALECT
#define COLL_DIALECT

include "mlir/IR/OpBase.td"

def Coll_Dialect : Dialect {
  let name = "coll";
  let cppNamespace = "::sccl::coll";
  let summary = "collective-communication problems, schedules and programs";
  let description = [{
    The dialect has three levels, each with its own family of ops. A pass takes
    a program from one level to the next and leaves nothing of the level before.

    | level | says | ops |
    |---|---|---|
    | problem | what is to be done, on which machine | `topology`, `link`, `limit`, `collective`, `pre`, `post`, `synthesize` |
    | schedule | which chunk goes over which link in which step | `schedule`, `step`, `send`, `reduce` |
    | program | what each rank's thread blocks execute | `program`, `rank`, `channel`, `put`, `get`, `copy`, `local_reduce`, `signal`, `wait` |

    Ranks, chunks, steps and slots are numbered from 0. Rank and chunk numbers
    are attributes, never SSA values: a schedule is fixed at compile time. Only
    the length of a chunk is known at run time.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Coll_Op<string mnemonic, list<Trait> traits = []>
    : Op<Coll_Dialect, mnemonic, traits>;

#endif // COLL_DIALECT
