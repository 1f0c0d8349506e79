#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Ranks of MPI that make different calls (mpi-mismatch.c): COUNT cases with one MPI, from
# number SCCL_FIRST (1) on.
# usage: mpi-mismatch.sh openmpi|mpich COUNT [NETBOX NET-FILE]
# On one host every third case is on one host, on two and on four as far as sccl knows;
# with NETBOX, which is as for test/Integration/cluster.sh, on the hosts of a file.
# Builds in the current folder. sccl is found through PATH, with its libraries beside.
set -eu
mpi=$1
count=$2
netbox=${3:-}
inputs=$(dirname "$0")
root=$(realpath "$inputs/../../..")
lib=${SCCL_LIB:-$(dirname "$(command -v sccl)")/../lib}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

"mpicc.$mpi" -std=gnu99 -Wall -Wextra -Werror "$inputs/mpi-mismatch.c" \
  -I"$root/include" -L"$lib" -lsccl "-lsccl-$mpi" -Wl,-rpath,"$lib" -o "mismatch-$mpi"
reductions="--element=i32 --element=f32 --element=f64 --reduction=sum --reduction=max"
plans=
for name in ring4-all_reduce ring4-reduce_scatter line4-reduce ring4-all_gather; do
  case $name in *gather) options= ;; *) options=$reductions ;; esac
  sccl compile "$inputs/$name.mlir" --target=mpi $options -o $name.sccl
  plans="$plans $PWD/$name.sccl"
done
for name in all_to_all broadcast; do
  sccl synth --machine=mesh:4 --collective=$name --chunks=4 --steps=2 --rounds=2 \
    -o $name.mlir > $name.log 2>&1
  sccl compile $name.mlir --target=mpi -o $name.sccl
  plans="$plans $PWD/$name.sccl"
done

# MPICH's mpirun may fail when all is done: see scclFinalizeMPI.
job() {
  timeout -k 5 600 "$@" > job.out 2>&1 || true
  grep "^case\|cases, \|^none" job.out || cat job.out
  grep -q " cases, 0 wrong" job.out
}

# No more in one job: communicators that have failed keep what MPI has for them.
batch=${SCCL_BATCH:-60}
first=${SCCL_FIRST:-1}
last=$((first + count - 1))
turn=0
if [ -n "$netbox" ]; then
  . "$root/test/Integration/netbox.sh"
  "$netbox" up "$4" --unit-mbit=200
  trap '"$netbox" down' EXIT
fi
while [ $first -le $last ]; do
  left=$((last - first + 1))
  [ $left -lt $batch ] || left=$batch
  case $turn in 0) hosts=1 ;; 1) hosts=2 ;; *) hosts=4 ;; esac
  turn=$(((turn + 1) % 3))
  set -- "$PWD/mismatch-$mpi"
  if [ -n "$netbox" ]; then
    [ "$mpi" = openmpi ] || set -- --mpich -n 4 "$@"
    [ "$mpi" = mpich ] || set -- -n 4 "$@"
    job "$netbox" mpirun "$@" 0 $first $left $plans
  else
    [ "$mpi" = mpich ] || set -- --oversubscribe -n 4 "$@"
    [ "$mpi" = openmpi ] || set -- -n 4 "$@"
    job "mpirun.$mpi" "$@" $hosts $first $left $plans
  fi
  first=$((first + left))
done
