# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Links a program with what is installed in a prefix, by pkg-config and by CMake, and runs it.
#   link-installed.sh PREFIX WORK-FOLDER
set -eu
prefix=$1
work=$2
mkdir -p "$work/build"
pc=$(find "$prefix" -name sccl.pc)
export PKG_CONFIG_PATH=$(dirname "$pc")
cat > "$work/main.c" <<'SOURCE'
#include <sccl/sccl.h>
int main(void) {
  int version = 0;
  return scclGetVersion(&version) != scclSuccess || version != SCCL_VERSION_CODE;
}
SOURCE
cc "$work/main.c" -o "$work/main" $(pkg-config --cflags --libs sccl) \
  $(pkg-config --variable=rpath sccl)
"$work/main"
echo "pkg-config: linked and ran"
echo "pkg-config: $(pkg-config --libs-only-l sccl-nccl)"
cat > "$work/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(linked LANGUAGES C)
find_package(sccl REQUIRED OPTIONAL_COMPONENTS openmpi mpich)
add_executable(main main.c)
target_link_libraries(main PRIVATE sccl::sccl)
add_executable(as_nccl main.c)
target_link_libraries(as_nccl PRIVATE sccl::sccl-nccl sccl::sccl)
foreach(mpi IN ITEMS openmpi mpich)
  if(sccl_${mpi}_FOUND)
    get_target_property(file sccl::sccl-${mpi} LOCATION)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "${file} is not there")
    endif()
  endif()
endforeach()
PROJECT
cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" > "$work/log"
cmake --build "$work/build" >> "$work/log"
"$work/build/main"
"$work/build/as_nccl"
echo "cmake: linked and ran"
