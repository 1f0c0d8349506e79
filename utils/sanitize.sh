#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds unit tests with AddressSanitizer and UndefinedBehaviorSanitizer in build-asan/ (or
# $SCCL_ASAN_BUILD) and runs them; exits 1 with the report if a test fails or there is a finding:
#   utils/sanitize.sh [TESTS...]
# Without arguments those that build and run in minutes: what checks schedules, certificates and
# machines, and what reads plans.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SCCL_ASAN_BUILD:-$root/build-asan}
tests=("$@")
[ $# != 0 ] || tests=(ModelTests MachineTests CheckTests PlanTests)

# Unlike in the preset `asan` nothing is optimized, which builds in a quarter of the time and
# leaves all that sanitizers look at, and the sources of a folder are compiled as one.
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_CXX_FLAGS_DEBUG="-O0 -g1" -DSCCL_SANITIZE=address,undefined > /dev/null
ninja -C "$build" "${tests[@]}"
export UBSAN_OPTIONS=print_stacktrace=1
failed=0
for test in "${tests[@]}"; do
  echo "sanitize: $test"
  "$build/bin/$test" --gtest_brief=1 || failed=1
done
exit "$failed"
