#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From what a tool prints of a machine to a measured table, on emulated hosts that
# are joined as the machine says: imports it, measures its links, plans, compiles,
# runs, and compares what was predicted and measured with the MPI's own collective.
# usage: imported.sh NETBOX MACHINE-FILE [UNIT-MBIT [NET-FILE]]
# NETBOX is as for cluster.sh, MACHINE-FILE what `sccl machine --as-topology --import` reads, or an
# .mlir file with a machine. Without NET-FILE each link of its topology is a cable
# of UNIT-MBIT for each unit. COLLECTIVES, FROM, TO (send buffers), BATCHES and MPIS
# may be set, and TUNE to let measurements choose between schedules. Needs root. sccl and its benches are found through PATH.
set -eu
netbox=$1
file=$(realpath "$2")
unit=${3:-50}
. "$(dirname "$0")/netbox.sh"
net=${4:+$(realpath "$4")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# 1. The machine.
case $file in
*.mlir) cp "$file" machine.mlir ;;
*) sccl machine --import="$file" -o machine.mlir ;;
esac
sccl machine machine.mlir --as-topology > topology.txt
ranks=$(sed -n 's/.*coll.topology.*ranks = \([0-9]*\).*/\1/p' topology.txt)
if [ -z "$net" ]; then
  ! grep -q coll.limit topology.txt || { echo "limits: give a NET-FILE"; exit 1; }
  { echo "hosts $ranks"
    sed -n 's/.*coll.link \([0-9]*\) -> \([0-9]*\) *\(bandwidth = \)*/\1 \2 /p' \
      topology.txt | awk '$1 < $2 { print "link", $1, $2, $3 ? $3 : 1 }'
  } > machine.net
  net=machine.net
fi
"$netbox" up "$net" --unit-mbit="$unit"
trap '"$netbox" down; rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for mpi in ${MPIS:-openmpi mpich}; do
  bench=$(command -v "sccl-bench-$mpi") || { echo "$mpi: not built"; continue; }
  [ "$mpi" = mpich ] && which=--mpich || which=
  start() {
    timeout -k 5 "${LIMIT:-240}" "$netbox" mpirun $which -n "$ranks" "$@" 2>&1
  }
  # 2. Its links.
  echo "== $mpi, load $(cut -d ' ' -f 1 /proc/loadavg)"
  start "$(command -v sccl)" profile "$PWD/machine.mlir" --launcher="$mpi" \
    --bytes=1MiB --batches=5 -o "$PWD/measured.mlir"
  for collective in ${COLLECTIVES:-all_gather all_reduce all_to_all broadcast}; do
    # 3. Schedules, and how long they should take.
    rm -rf schedules
    sccl plan --machine=measured.mlir --tolerance=0.05 --collective="$collective" \
      --from="${FROM:-64KiB}" --to="${TO:-1MiB}" ${TUNE:+--spares} \
      --json -o schedules > plan.json
    # 4. The plan. 5. Is it right?
    sccl compile schedules/*.mlir --target=mpi -o plan.sccl
    start "$(command -v sccl)" run "$PWD/plan.sccl" --launcher="$mpi" --bytes=64KiB
    [ -z "${TUNE:-}" ] || start "$(command -v sccl)" tune "$PWD/plan.sccl" \
      --launcher="$mpi" --from="${FROM:-64KiB}" --to="${TO:-1MiB}" --factor=2
    # 6. Times of ours and theirs, for the same send buffers.
    echo "$collective: bytes; predicted us; median, best, best / predicted;" \
      "$mpi's own median, median / ours"
    [ "$collective" = all_gather ] && times=$ranks || times=1
    sed -n 's/.*"bytes":\([0-9]*\),.*"microseconds":\([0-9.]*\),.*/\1 \2/p' plan.json |
      while read -r bytes predicted; do
        start "$bench" "$PWD/plan.sccl" $((bytes * times)) "${BATCHES:-7}" \
          $((bytes * times)) < /dev/null > bench.txt || cat bench.txt
        awk -v bytes="$bytes" -v predicted="$predicted" -v size=$((bytes * times)) \
          '$1 == size { printf "%9d %9.0f %9.0f %9.0f %6.2f %9.0f %6.2f\n", bytes,
                        predicted, $3, $5, $5 / predicted, $2, $2 / $3 }' bench.txt
      done
  done
done
