#!/usr/bin/env bash
# ===- gpu.sh - All checks that need a GPU ----------------------------------===
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===
#
# Synthesizes the rows of the paper's tables, compiles them for the GPUs of this
# machine, and runs them through libsccl for 0 to 64 MiB: every output is compared
# with the definition of the collective. Prints one table, in less than 8 minutes;
# rows for which there was no time are counted at the end. Where there is no GPU,
# says so and exits with 0. Exits with 1 if a row fails.
#
# Where there are fewer GPUs than ranks, ranks share them, with a stream each.
# That tests kernels and flags. Its times are those of one L2 cache and one memory:
# they say nothing about several GPUs.
#
# SCCL_BUILD: the build folder. SCCL_GPU_SECONDS: the limit, 450 by default.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
sccl=${SCCL_BUILD:-$root/build}/bin/sccl
limit=${SCCL_GPU_SECONDS:-450}
table=$root/test/Data/paper-tables.csv

skip() {
  echo "SKIPPED: $1"
  exit 0
}

device= target= count=0
if command -v nvidia-smi > /dev/null &&
   caps=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader) &&
   [ -n "$caps" ]; then
  device=cuda
  count=$(wc -l <<< "$caps")
  target=sm_$(sort -V <<< "$caps" | head -n 1 | tr -d '. ')
elif command -v rocm_agent_enumerator > /dev/null &&
     archs=$(rocm_agent_enumerator | grep -v gfx000) && [ -n "$archs" ]; then
  device=hip
  count=$(wc -l <<< "$archs")
  target=$(head -n 1 <<< "$archs")
fi
[ -n "$device" ] || skip "no NVIDIA or AMD GPU on this machine"
[ -x "$sccl" ] || { echo "no $sccl; build it, or set SCCL_BUILD" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 passed=0 late=0
echo "$count GPUs, $target, ranks as threads"
[ "$count" -ge 8 ] ||
  echo "ranks share GPUs: one L2 and one memory, never the speed of several GPUs"
printf '%-8s %-14s %6s %5s %6s  %-9s %10s %10s\n' \
  topology collective chunks steps rounds '#wrong' us@4KiB us@64MiB

report() { # topology collective chunks steps rounds result [time time]
  printf '%-8s %-14s %6s %5s %6s  %-9s %10s %10s\n' "$1" "$2" "$3" "$4" "$5" \
    "$6" "${7:--}" "${8:--}"
}

# The sum of #wrong, and the times of 4 KiB and 64 MiB.
digest() {
  python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
wrong = sum(r[k]["wrong"] for r in rows for k in ("out_of_place", "in_place"))
def time(size):
    near = min(rows, key=lambda r: abs(r["size"] - size))
    return "%.1f" % near["out_of_place"]["time_us"]
print(wrong if len(rows) == 14 else "short", time(4096), time(64 << 20))
' "$1"
}

while IFS=, read -r topology collective chunks steps rounds _; do
  case $topology in '#'* | topology) continue ;; esac
  if [ $SECONDS -ge "$limit" ]; then
    late=$((late + 1))
    continue
  fi
  row=("$topology" "$collective" "$chunks" "$steps" "$rounds")
  left=$((limit - SECONDS + 20))
  if ! timeout $left "$sccl" synth --topology="$topology" \
         --collective="$collective" --chunks="$chunks" --steps="$steps" \
         --rounds="$rounds" -o "$work/row.mlir" > "$work/log" 2>&1 ||
     ! timeout $left "$sccl" compile "$work/row.mlir" --target="$target" \
         -o "$work/row.sccl" >> "$work/log" 2>&1 ||
     ! timeout $left "$sccl" bench "$work/row.sccl" --device=$device \
         --gpus="$count" --ranks-as=threads --from=1 --to=64MiB --factor=4 \
         --batches=2 --json > "$work/out" 2>> "$work/log" ||
     ! numbers=$(digest "$work/out" 2>> "$work/log"); then
    report "${row[@]}" FAILED
    tail -n 3 "$work/log" | sed 's/^/  /'
    failed=$((failed + 1))
    continue
  fi
  read -r wrong small large <<< "$numbers"
  report "${row[@]}" "$wrong" "$small" "$large"
  if [ "$wrong" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  last=$work/last.sccl
  cp "$work/row.sccl" "$last"
done < "$table"

if [ -n "${last:-}" ] && command -v compute-sanitizer > /dev/null; then
  if timeout 60 compute-sanitizer --error-exitcode=9 "$sccl" bench "$last" \
       --device=$device --gpus="$count" --ranks-as=threads --from=1 --to=4KiB \
       --factor=16 --batches=1 --timeout=50 > "$work/log" 2>&1; then
    echo "compute-sanitizer: no errors"
  else
    echo "compute-sanitizer: FAILED"
    tail -n 5 "$work/log" | sed 's/^/  /'
    failed=$((failed + 1))
  fi
else
  echo "compute-sanitizer: not here, or nothing to run"
fi
echo "$passed rows right, $failed failed, $late not run for lack of time"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
