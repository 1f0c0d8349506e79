#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Cuts a cable between emulated hosts of one rank each while ranks launch a plan, or
# all that lead to a host, which then is as good as dead: all processes of sccl must end,
# and name the host, or one at the end of the cable.
# usage: cut.sh NETBOX NET-FILE PLAN HOST HOST|all [openmpi|mpich]
# NETBOX is as for cluster.sh. Needs root. sccl is found through PATH.
set -eu
netbox=$1
net=$2
plan=$(realpath "$3")
mpi=${6:-openmpi}
. "$(dirname "$0")/netbox.sh"
ranks=$(awk '$1 == "hosts" { print $2 * ($3 ? $3 : 1) }' "$net")
[ "$mpi" = mpich ] && which=--mpich || which=
out=$(mktemp)

"$netbox" up "$net" --unit-mbit=50
trap '"$netbox" down; rm -f "$out"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout -k 1 60 "$netbox" mpirun $which -n "$ranks" "$(command -v sccl)" bench \
  "$plan" --launcher="$mpi" --timeout=3 --from=4MiB --to=4MiB --batches=100 \
  > "$out" 2>&1 &
bench=$!
sleep 11
for link in $(ip -n "nb$4" -o link | sed -n 's/^[0-9]*: \(c[0-9]*\|nic\)@.*/\1/p'); do
  [ "$5" != all ] && [ "$link" != "c$5" ] || ip -n "nb$4" link set "$link" down
done
sleep 21
left=0
for host in $(seq 0 $((ranks - 1))); do
  for process in $(ip netns pids "nb$host"); do
    [ "$(cat "/proc/$process/comm" 2> /dev/null)" != sccl ] || left=$((left + 1))
  done
done
wait "$bench" || true
cat "$out"
[ "$left" = 0 ] || { echo "$left processes are left"; exit 1; }
[ "$5" = all ] && lost=$4 || lost="[$4$5]"
grep -q "sccl: error: rank .* has waited 3 s .* rank $lost on host nb$lost, " "$out" ||
  { echo "nobody says who is lost"; exit 1; }
