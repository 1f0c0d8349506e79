#!/usr/bin/env bash
# ===- gpu.sh - All checks that need a GPU ----------------------------------===
#
# Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===
#
# usage: gpu.sh                        compile and run on this machine
#        gpu.sh pack FOLDER [TARGET]   compile for another one; needs no GPU
#        gpu.sh run FOLDER             run there what was packed
#
# Runs the rows of the paper's tables through libsccl for 0 to 64 MiB, and compares
# every output with the definition of the collective. Then, on NVIDIA GPUs, measures
# G1 to G7 (docs/KernelQuality.md) and prints each with its bar. One table, in less
# than 8 minutes; rows for which there was no time are counted, and what cannot be
# measured says why. Where there is no GPU, says so and exits with 0. Exits with 1
# if a row fails; missed bars do not.
#
# Where there are fewer GPUs than ranks, ranks share them: one kernel runs all of
# them (--virtual-ranks). That tests kernels and flags. Its times are those of one
# L2 cache and one memory: they say nothing about several GPUs.
#
# On a machine that is lent without LLVM or network:
#
#   here    ninja -C build sccl sccl-opt sccl-bench-gpu
#           bash test/Integration/gpu.sh pack build/gpu sm_90
#           16 MB, of 64 that may travel. git ignores build/, so name build/gpu
#           among what is to be carried.
#   there   bash build/gpu/gpu.sh run build/gpu
#
# There it needs the GPU's driver, bash, coreutils and gzip. Kernels written by
# hand are compiled where there is nvcc, here or there; compute-sanitizer is used if
# it is there.
#
# SCCL_BUILD: the build folder. SCCL_GPU_SECONDS: the limit for running, 450 by
# default. SCCL_GPU_ROWS: of the table, only rows that match this expression.
# SCCL_GPU_MOST: bytes of the largest size, 64 MiB by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
limit=${SCCL_GPU_SECONDS:-450}

fail() {
  echo "gpu.sh: error: $1" >&2
  exit 1
}

# The GPUs of this machine: device, target, count. Fails if there is none.
find_gpus() {
  local list
  if command -v nvidia-smi > /dev/null &&
     list=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader) &&
     [ -n "$list" ]; then
    device=cuda
    target=sm_$(sort -V <<< "$list" | head -n 1 | tr -d '. ')
  elif command -v rocm_agent_enumerator > /dev/null &&
       list=$(rocm_agent_enumerator | grep -v gfx000) && [ -n "$list" ]; then
    device=hip
    target=$(head -n 1 <<< "$list")
  else
    return 1
  fi
  count=$(wc -l <<< "$list")
}

# ===------------------------------------------------------------------------===
# Compiling
# ===------------------------------------------------------------------------===

# synthesize NAME TOPOLOGY COLLECTIVE CHUNKS STEPS ROUNDS
synthesize() {
  "$sccl" synth --machine="$2" --collective="$3" --chunks="$4" --steps="$5" \
    --rounds="$6" -o "$work/$1.mlir" > "$work/$1.log" 2>&1 ||
    { tail -n 3 "$work/$1.log" >&2; return 1; }
}

# compile NAME SCHEDULE OPTION...
compile() {
  local name=$1 schedule=$2
  shift 2
  "$sccl" compile "$work/$schedule.mlir" --target="$target" --virtual-ranks \
    "${assemble[@]}" "$@" -o "$folder/$name.sccl" >> "$work/$schedule.log" 2>&1 ||
    { tail -n 3 "$work/$schedule.log" >&2; return 1; }
}

# pack_row NUMBER TOPOLOGY,COLLECTIVE,CHUNKS,STEPS,ROUNDS
pack_row() {
  local topology collective chunks steps rounds
  IFS=, read -r topology collective chunks steps rounds <<< "$2"
  local name=rows/$1-$topology-$collective-$chunks-$steps-$rounds
  if synthesize "$name" "$topology" "$collective" "$chunks" "$steps" "$rounds" &&
     compile "$name" "$name" --variant=push --variant=scratch; then
    gzip -f "$folder/$name.sccl"
  else
    tail -n 3 "$work/$name.log" > "$folder/$name.failed"
  fi
}

pack_rows() {
  local number=100 jobs
  jobs=$(nproc)
  while IFS=, read -r topology collective chunks steps rounds _; do
    case $topology in '#'* | topology) continue ;; esac
    number=$((number + 1))
    local row=$topology,$collective,$chunks,$steps,$rounds
    [[ $row =~ ${SCCL_GPU_ROWS:-.} ]] || continue
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
    pack_row "$number" "$row" &
  done < "$root/test/Data/paper-tables.csv"
  wait
}

# A program that sets and awaits flags, 500 times there and back; no schedule
# becomes that, so it skips the checks of programs.
pack_ping_pong() {
  local pipeline="convert-coll-to-kernel,convert-kernel-to-gpu{target=nvvm block-size=256 \
virtual-ranks=true},nvvm-attach-target{chip=$target O=3},gpu.module(canonicalize,\
cse,convert-scf-to-cf,convert-gpu-to-nvvm,canonicalize,reconcile-unrealized-casts),\
gpu-module-to-binary{format=isa}"
  {
    echo 'coll.topology @pair ranks = 2 { coll.link 0 -> 1 unlimited coll.link 1 -> 0 unlimited }'
    echo 'coll.program @pingpong of broadcast on @pair chunks = 1 root = 0 blocks = 1 {'
    echo 'coll.rank 0 scratch = 0 { coll.channel to 1 {'
    for i in $(seq 500); do
      echo "coll.signal arrival to 1 value = $i"
      echo "coll.wait arrival from 1 value = $i"
    done
    echo '} } coll.rank 1 scratch = 0 { coll.channel to 0 {'
    for i in $(seq 500); do
      echo "coll.wait arrival from 0 value = $i"
      echo "coll.signal arrival to 0 value = $i"
    done
    echo '} } }'
  } > "$work/ping-pong.mlir"
  "$bin/sccl-opt" "$work/ping-pong.mlir" \
    -pass-pipeline="builtin.module($pipeline)" -o "$work/ping-pong.binary"
  python3 -c '
import re, sys
text = re.search(r"assembly = \"([^\"]*)\"", open(sys.argv[1]).read())[1]
text = re.sub(r"\\([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), text)
open(sys.argv[2], "w").write(text.rstrip("\0"))
' "$work/ping-pong.binary" "$folder/ping-pong.ptx"
}

pack_metrics() {
  local large=(--block-size=512 --resident-blocks=264)
  # Blocks that share a chunk take more registers, and there are more of them.
  local many=(--block-size=256 --resident-blocks=264)
  synthesize copy line:2 broadcast 1 1 1
  compile copy copy "${large[@]}" --variant=push --blocks-per-link=1 \
    --blocks-per-link=4 --blocks-per-link=16 --blocks-per-link=32 \
    --blocks-per-link=64
  synthesize reduce2 line:2 reduce_scatter 2 1 1
  compile reduce2 reduce2 "${many[@]}" --variant=pull --blocks-per-link=16 \
    --blocks-per-link=32 --element=f32 --element=f16 --element=bf16 --element=f8e4m3
  synthesize reduce8 mesh:8 reduce_scatter 8 1 1
  compile reduce8 reduce8 "${many[@]}" --variant=pull --blocks-per-link=1 \
    --blocks-per-link=2
  synthesize all_reduce mesh:8 all_reduce 8 2 2
  compile all_reduce all_reduce "${many[@]}" --variant=push --variant=pull \
    --variant=scratch --blocks-per-link=1 --blocks-per-link=2
  compile ll all_reduce "${many[@]}" --ll --variant=scratch
  compile no-ready all_reduce "${many[@]}" --variant=scratch
  compile ready all_reduce "${many[@]}" --variant=push --through-scratch
  synthesize all_gather mesh:8 all_gather 1 1 1
  compile all_gather all_gather "${many[@]}" --variant=push --blocks-per-link=2
  pack_ping_pong
  cp "$root/tools/sccl-bench-gpu/HandWritten.cu" "$folder"
  compile_by_hand "$folder"
}

# Compiles what is written by hand, if there is a compiler.
compile_by_hand() {
  [ ! -e "$1/hand-written.ptx" ] && command -v nvcc > /dev/null || return 0
  nvcc -arch="$target" -std=c++17 -O3 -ptx "$1/HandWritten.cu" \
    -o "$1/hand-written.ptx" ||
    echo "nvcc cannot compile HandWritten.cu" >&2
}

# pack FOLDER TARGET
pack() {
  root=$(cd "$here/../.." && pwd)
  bin=${SCCL_BUILD:-$root/build}/bin
  sccl=$bin/sccl folder=$1 target=$2 assemble=()
  for tool in sccl sccl-opt sccl-bench-gpu; do
    [ -x "$bin/$tool" ] || fail "no $bin/$tool; build it, or set SCCL_BUILD"
  done
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  rm -rf "$folder"
  mkdir -p "$folder/rows" "$work/rows"
  # Machine code loads at once; drivers compile PTX for seconds.
  if [[ $target == sm_* ]] && command -v ptxas > /dev/null; then
    assemble=(--assemble)
  fi
  pack_rows
  [[ $target != sm_* ]] || pack_metrics
  cp "$bin/sccl-bench-gpu" "$bin/../lib/libsccl.so.0" "$here/gpu.sh" "$folder"
  echo "$target" > "$folder/target"
  echo "packed for $target in $folder: $(find "$folder/rows" -name '*.gz' |
    wc -l) rows, $(du -sh "$folder" | cut -f 1), in $SECONDS s"
}

# ===------------------------------------------------------------------------===
# Running
# ===------------------------------------------------------------------------===

# by_kind PLAN...: one row of each topology and collective first, then the others.
by_kind() {
  local path kind first=() other=() seen=" "
  for path in "$@"; do
    kind=$(basename "$path" .sccl | cut -d - -f 2,3)
    if [[ $seen == *" $kind "* ]]; then
      other+=("$path")
    else
      first+=("$path")
      seen+="$kind "
    fi
  done
  printf '%s\n' "${first[@]}" "${other[@]}"
}

# run_sanitizer PLAN...: as many as there is time for.
run_sanitizer() {
  local plans
  if ! command -v compute-sanitizer > /dev/null; then
    echo "compute-sanitizer: not here"
    return
  fi
  mapfile -t plans < <(by_kind "$@")
  if timeout "$((limit * 2 / 15))" compute-sanitizer --error-exitcode=9 \
       "$folder/sccl-bench-gpu" rows --device=$device --gpus="$count" \
       --seconds="$((limit * 7 / 90))" --most=4096 "${plans[@]}" > "$work/log" 2>&1; then
    echo "compute-sanitizer: no errors: $(grep 'rows right' "$work/log")"
  else
    echo "compute-sanitizer: FAILED with code $?"
    tail -n 5 "$work/log" | sed 's/^/  /'
    failed=1
  fi
}

# run FOLDER
run() {
  folder=$(cd "$1" && pwd)
  [ -x "$folder/sccl-bench-gpu" ] || fail "$1 was not made by gpu.sh pack"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cp "$folder"/rows/* "$work"
  gunzip -f "$work"/*.gz
  local begin=$SECONDS plans=("$work"/*.sccl) path
  failed=0
  echo "$count GPUs, $target, compiled for $(cat "$folder/target"), ranks as threads"
  [ "$count" -ge 8 ] ||
    echo "ranks share GPUs: one L2 and one memory, never the speed of several GPUs"
  for path in "$work"/*.failed; do
    [ -e "$path" ] || continue
    echo "not compiled: $(basename "$path" .failed)"
    sed 's/^/  /' "$path"
    failed=1
  done
  # Of 450 s, 60 are for the sanitizer and 150 for G1 to G7.
  timeout "$((limit - 180))" "$folder/sccl-bench-gpu" rows --device=$device \
    --gpus="$count" --seconds="$((limit - 230))" \
    --launch-seconds="$((limit * 2 / 45))" \
    --most="${SCCL_GPU_MOST:-67108864}" "${plans[@]}" || failed=1
  if [ $device = cuda ]; then
    compile_by_hand "$folder"
    timeout "$((limit / 3))" "$folder/sccl-bench-gpu" metrics \
      --launch-seconds="$((limit / 90))" "$folder" ||
      echo "G1 to G7: ended with code $?"
  else
    echo "G1 to G7: not measured: they need CUDA"
  fi
  run_sanitizer "${plans[@]}"
  echo "done in $((SECONDS - begin)) s"
  return $failed
}

case ${1:-} in
'')
  find_gpus || { echo "SKIPPED: no NVIDIA or AMD GPU on this machine"; exit 0; }
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  # In a shell of its own, so that each cleans up after itself.
  (pack "$folder" "$target")
  code=0
  (run "$folder") || code=$?
  exit $code
  ;;
pack)
  [ -n "${2:-}" ] || fail "pack needs a folder"
  pack "$2" "${3:-sm_90}"
  ;;
run)
  [ -d "${2:-}" ] || fail "run needs a folder that gpu.sh pack has made"
  find_gpus || { echo "SKIPPED: no NVIDIA or AMD GPU on this machine"; exit 0; }
  run "$2"
  ;;
*)
  fail "expected pack FOLDER [TARGET], run FOLDER, or nothing"
  ;;
esac
