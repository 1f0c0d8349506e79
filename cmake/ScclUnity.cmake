# With CMAKE_UNITY_BUILD, as utils/build.sh sets it, sources of one folder of a
# library are compiled as one, sixteen at most, which reads headers of MLIR once
# for all of them. Without it, a changed file is compiled alone.
function(sccl_join_sources target)
  get_target_property(root ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  list(SORT sources)
  set(last "none")
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE BASE_DIR ${root})
    get_filename_component(folder ${source} DIRECTORY)
    if(NOT folder STREQUAL last)
      set(last ${folder})
      set(count 0)
    endif()
    get_source_file_property(group ${source} TARGET_DIRECTORY ${target}
      UNITY_GROUP)
    if(NOT group)
      file(RELATIVE_PATH name ${root} ${folder})
      math(EXPR part "${count} / 16")
      string(MAKE_C_IDENTIFIER "sources_${name}_${part}" group)
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
        PROPERTIES UNITY_GROUP ${group})
    endif()
    math(EXPR count "${count} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  # g++ takes all but the first for headers.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

get_property(libraries GLOBAL PROPERTY SCCL_LIBRARIES)
foreach(target IN LISTS libraries ITEMS libsccl sccl)
  sccl_join_sources(${target})
endforeach()
