#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a command and fails unless it exits with the expected code:
#   exits.sh CODE COMMAND...   (in lit tests: %exits CODE COMMAND...)
# lit's own `not` cannot tell exit code 1 from 2 and 3, which mean different things in sccl.
expected=$1
shift
"$@"
actual=$?
[ "$actual" -eq "$expected" ] && exit 0
echo "exits.sh: expected exit code $expected, got $actual: $*" >&2
exit 99
