#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a plan on emulated hosts, with each MPI that is there, and compares it with
# that MPI's own collective.
# usage: cluster.sh NETBOX NET-FILE PLAN [UNIT-MBIT [BYTES [BATCHES]]]
# NETBOX makes hosts of network namespaces: `up FILE --unit-mbit=N`, `mpirun [--mpich]
# ARGS`, `down`. Needs root. sccl and its benches are found through PATH.
set -eu
netbox=$1
net=$2
plan=$(realpath "$3")
unit=${4:-50}
bytes=${5:-1048576}
batches=${6:-11}
. "$(dirname "$0")/netbox.sh"
ranks=$(awk '$1 == "hosts" { print $2 * ($3 ? $3 : 1) }' "$net")

"$netbox" up "$net" --unit-mbit="$unit"
trap '"$netbox" down' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for mpi in openmpi mpich; do
  bench=$(command -v "sccl-bench-$mpi") || { echo "$mpi: not built"; continue; }
  [ "$mpi" = mpich ] && which=--mpich || which=
  echo "== $mpi"
  timeout -k 5 120 "$netbox" mpirun $which -n "$ranks" "$(command -v sccl)" run \
    "$plan" --launcher=$mpi --bytes="$bytes" --iterations=3
  timeout -k 5 600 "$netbox" mpirun $which -n "$ranks" "$bench" "$plan" \
    $((bytes * ranks)) "$batches"
done
