// RUN: sccl-opt %s -sccl-to-nvvm | FileCheck %s --check-prefixes=CHECK,NVVM
// RUN: sccl-opt %s -sccl-to-nvvm="chip=sm_80 blocks-per-link=2 block-size=512" | FileCheck %s --check-prefix=SM80
// RUN: sccl-opt %s -sccl-to-rocdl | FileCheck %s --check-prefixes=CHECK,ROCDL
// RUN: sccl-opt %s -sccl-to-rocdl="chip=gfx90a element=f64" | FileCheck %s --check-prefix=GFX90A
// RUN: sccl-opt %s -sccl-to-nvvm | FileCheck %s --check-prefix=NONE
// RUN: sccl-opt %s -sccl-to-rocdl | FileCheck %s --check-prefix=NONE

// Kernels are left, in the dialect of the target and in LLVM's, nothing else.
// NONE-NOT: {{ (coll|scf|arith|cf)\.}}
// NONE-NOT: {{ gpu\.(barrier|thread_id|block_id|func|return)}}
// NONE-NOT: unrealized_conversion_cast

// CHECK: module attributes {gpu.container_module}
// NVVM:  gpu.module @sum [#nvvm.target<O = 3, chip = "sm_90">]
// ROCDL: gpu.module @sum [#rocdl.target<O = 3, chip = "gfx942"{{.*}}>]
// SM80:  gpu.module @sum [#nvvm.target<O = 3, chip = "sm_80">]
// GFX90A: gpu.module @sum [#rocdl.target<O = 3, chip = "gfx90a"{{.*}}>]

// GFX90A: llvm.fadd {{.*}} : vector<2xf64>

// CHECK-LABEL: llvm.func hidden @coll_signal
// NVVM:          nvvm.barrier
// ROCDL:         llvm.fence release
// ROCDL:         rocdl.s.waitcnt 3952
// ROCDL:         rocdl.barrier
// CHECK:         llvm.store {{.*}} atomic release
// CHECK-LABEL: llvm.func hidden @coll_wait
// CHECK:         llvm.load {{.*}} atomic acquire

// NVVM-LABEL:  llvm.func @sum_rank0(
// NVVM-SAME:     nvvm.kernel
// NVVM-SAME:     nvvm.maxntid = array<i32: 256, 1, 1>
// NVVM:          nvvm.read.ptx.sreg.ctaid.x
// NVVM-LABEL:  llvm.func @sum_rank1(
// ROCDL-LABEL: llvm.func @sum_rank0(
// ROCDL-SAME:    rocdl.kernel
// ROCDL:         rocdl.workgroup.id.x
// ROCDL-LABEL: llvm.func @sum_rank1(
// SM80:        llvm.func @sum_rank1({{.*}}nvvm.maxntid = array<i32: 512, 1, 1>

coll.topology @pair ranks = 2 {
  coll.link 1 -> 0 unlimited
}
coll.schedule @sum of reduce on @pair chunks = 1 root = 0 {
  coll.step rounds = 1 {
    coll.reduce 0 over 1 -> 0
  }
}
