# Language level, output folders, warnings and ccache, for all of sccl.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# The same bytes wherever the build folder is.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

find_program(SCCL_CCACHE ccache)
if(SCCL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SCCL_CCACHE})
endif()

# -Wrestrict of g++ 12 misfires on std::string (GCC bug 105651); drop the switch
# when g++ 13 is the oldest compiler.
set(SCCL_WARNINGS -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# A plain C++ library: exceptions and RTTI on, neither LLVM nor MLIR.
# Sources name private headers of other rooms from lib/.
include_directories(${PROJECT_SOURCE_DIR}/lib)

function(add_sccl_model_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PRIVATE ${SCCL_WARNINGS})
  set_property(GLOBAL APPEND PROPERTY SCCL_LIBRARIES ${name})
endfunction()

# libMLIR itself is not instrumented: vtables of its classes are not checked.
set(SCCL_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined")
if(SCCL_SANITIZE)
  add_compile_options(-fsanitize=${SCCL_SANITIZE} -fno-sanitize=vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SCCL_SANITIZE})
endif()
