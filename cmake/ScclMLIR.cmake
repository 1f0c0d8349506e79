# Finds the packaged MLIR, and defines how sccl's MLIR libraries and tools are
# built. Everything links the shared libMLIR and libLLVM.
find_package(MLIR 22.1 CONFIG QUIET HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "sccl needs LLVM/MLIR 22 (Debian: libmlir-22-dev mlir-22-tools llvm-22-dev);"
    " set MLIR_DIR, or SCCL_ENABLE_MLIR=OFF for the model and the solvers only")
endif()
message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM_DEFINITIONS is one string; unsplit it redefines _GLIBCXX_USE_CXX11_ABI.
separate_arguments(SCCL_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${SCCL_LLVM_DEFINITIONS})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_BINARY_DIR}/include)
set(LLVM_TABLEGEN_EXE llvm-tblgen)
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)

# Generated headers appear under their public names in the build tree.
add_subdirectory(dialects ${PROJECT_BINARY_DIR}/include/sccl/Dialect)
add_subdirectory(include/sccl)

# add_sccl_mlir_library(NAME sources... [DEPENDS targets] [LIBS libraries])
# A static library of ours that uses MLIR, through libMLIR.so.
function(add_sccl_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${SCCL_WARNINGS} -fno-exceptions
    -Wno-unused-parameter)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LIBS} MLIR LLVM)
  set_property(GLOBAL APPEND PROPERTY SCCL_LIBRARIES ${name})
endfunction()

# add_sccl_tool(NAME sources... [LIBS libraries])
function(add_sccl_tool name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${SCCL_WARNINGS} -fno-exceptions
    -Wno-unused-parameter)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} MLIR LLVM)
endfunction()
