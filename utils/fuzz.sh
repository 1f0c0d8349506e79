#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzes readers of files, each for SECONDS of CPU time, JOBS at once (2); see
# docs/Fuzzing.md. Needs clang-22, libclang-rt-22-dev and a build that has passed its
# tests, whose files it begins with:
#   utils/fuzz.sh SECONDS [FUZZER...]
# Found inputs are kept in build-fuzz/found, those that fail in build-fuzz/failed. Prints
# a line for each fuzzer; exits 1 if one has failed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SCCL_BUILD:-$root/build}
fuzz=${SCCL_FUZZ_BUILD:-$root/build-fuzz}
seconds=${1:?usage: utils/fuzz.sh SECONDS [FUZZER...]}
shift
fuzzers=("$@")
if [ $# = 0 ]; then
  for source in "$root"/test/Fuzz/*Fuzz.cpp; do
    fuzzers+=("$(basename "$source" .cpp)")
  done
fi
seeds=$build/test/Fuzz/Output/replay.test.tmp
[ -d "$seeds/traces" ] || {
  echo "fuzz: error: no $seeds; run the tests first" >&2
  exit 1
}

# The folders of files that a fuzzer begins with.
seeds_of() {
  case $1 in
  CertificateFuzz) echo "$seeds/certificates" "$root/test/Fuzz/Corpus/certificates" ;;
  PlanFuzz) echo "$seeds/plans" ;;
  MachineFuzz) echo "$seeds"/machines/* ;;
  ScheduleFileFuzz) echo "$seeds/schedules" ;;
  CsvFuzz) echo "$seeds/tables" ;;
  IRFuzz | LoweringFuzz) echo "$root"/test/{Tools/Inputs,Dialect/Coll,Transforms,Fuzz/Corpus/ir} ;;
  AssemblyFuzz) echo "$seeds/assembly" ;;
  LitmusFuzz) echo "$root/test/Litmus/Inputs" ;;
  TraceFuzz) echo "$seeds/traces" ;;
  *) echo "fuzz: error: no seeds are known for $1" >&2 && return 1 ;;
  esac
}

# The seconds of CPU time that a process has used.
used_by() {
  awk -v tick="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) / tick) }' \
    "/proc/$1/stat" 2>/dev/null || echo 0
}

fuzz_one() {
  local name=$1 folders log=$fuzz/found/$1.log process used=0 now state=0
  folders=$(seeds_of "$name")
  mkdir -p "$fuzz/found/$name" "$fuzz/failed"
  # What it has found before, then the seeds, which it leaves as they are.
  # shellcheck disable=SC2086
  "$fuzz/bin/$name" -rss_limit_mb=3000 -timeout=120 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$fuzz/failed/$name-" "$fuzz/found/$name" $folders 2> "$log" > /dev/null &
  process=$!
  while kill -0 "$process" 2>/dev/null; do
    now=$(used_by "$process")
    [ "$now" -le "$used" ] || used=$now
    [ "$used" -lt "$seconds" ] || kill -INT "$process" 2>/dev/null || true
    sleep 2
  done
  wait "$process" || state=$?
  local result="nothing found"
  # libFuzzer's own code where it was interrupted.
  [ "$state" = 0 ] || [ "$state" = 72 ] || result="failed, exit code $state: $log"
  printf '%-17s %5d s %11d inputs  %s\n' "$name" "$used" \
    "$(awk '/number_of_executed_units/ { print $2 }' "$log" | tail -1)" "$result"
  [ "$result" = "nothing found" ]
}

cmake -S "$root" -B "$fuzz" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  -DSCCL_SANITIZE=fuzzer-no-link,address > /dev/null
ninja -C "$fuzz" "${fuzzers[@]}"
export -f fuzz_one seeds_of used_by
export root fuzz seeds seconds
printf '%s\n' "${fuzzers[@]}" | xargs -P "${JOBS:-2}" -I{} bash -euo pipefail -c 'fuzz_one {}'
