# What `cmake --install` installs, by component:
#   libsccl   the libraries that programs run plans with. They need nothing else.
#   dev       their headers, CMake package and pkg-config files
#   sccl      the driver, what starts ranks with MPI or reaches other hosts by
#             UCX, documents and examples
#   python    the Python package, for Debian's Python
#   compiler  sccl-opt, sccl-translate and sccl-lsp-server; libraries, headers and
#             .td files, to build passes and tools against
# All but `compiler` is built by `ninja sccl-product`.
add_custom_target(sccl-product DEPENDS libsccl sccl-nccl sccl sccl-manual)
foreach(mpi IN LISTS SCCL_MPIS)
  add_dependencies(sccl-product sccl-${mpi} sccl-bench-${mpi})
endforeach()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sccl)

install(TARGETS libsccl EXPORT scclTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsccl
  NAMELINK_COMPONENT dev)
set_target_properties(sccl-nccl PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS sccl-nccl EXPORT scclTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT libsccl NAMELINK_COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/include/sccl/sccl.h
  ${PROJECT_SOURCE_DIR}/include/sccl/sccl-mpi.h
  ${PROJECT_SOURCE_DIR}/include/sccl/sccl-trace.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sccl COMPONENT dev)
install(EXPORT scclTargets NAMESPACE sccl:: DESTINATION ${package_dir}
  COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/scclConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/scclConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/scclConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/scclConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/scclConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)
# Relative, for `cmake --install --prefix` and for folders that are moved.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
file(RELATIVE_PATH lib_from_prefix ${CMAKE_INSTALL_PREFIX}
  ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH include_from_prefix ${CMAKE_INSTALL_PREFIX}
  ${CMAKE_INSTALL_FULL_INCLUDEDIR})
function(sccl_install_pc pc_name component pc_description pc_libs pc_requires)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/sccl.pc.in
    ${PROJECT_BINARY_DIR}/cmake/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${pc_name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
sccl_install_pc(sccl dev "Runs compiled collectives" "-lsccl" "")
sccl_install_pc(sccl-nccl dev "Runs compiled collectives by NCCL's functions"
  "-lsccl-nccl" "")

# The driver finds its libraries, and those for MPI, at ../lib; MLIR's where they
# were when it was built.
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR}
  ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(sccl PROPERTIES
  INSTALL_RPATH "$ORIGIN/${lib_from_bin};${LLVM_LIBRARY_DIR}")
install(TARGETS sccl DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sccl)
# Programs that call sccl-mpi.h link what their MPI is: sccl::sccl-openmpi of
# find_package(sccl COMPONENTS openmpi), or sccl-openmpi of pkg-config.
set(SCCL_PC_openmpi ompi-c)
set(SCCL_PC_mpich mpich)
foreach(mpi IN LISTS SCCL_MPIS)
  set_target_properties(sccl-${mpi} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS sccl-${mpi} EXPORT sccl-${mpi}Targets
    DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sccl)
  install(EXPORT sccl-${mpi}Targets NAMESPACE sccl:: DESTINATION ${package_dir}
    COMPONENT sccl)
  sccl_install_pc(sccl-${mpi} sccl "Runs compiled collectives on ranks of ${mpi}"
    "-lsccl-${mpi}" "sccl ${SCCL_PC_${mpi}}")
  set_target_properties(sccl-bench-${mpi} PROPERTIES
    INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  install(TARGETS sccl-bench-${mpi} DESTINATION ${CMAKE_INSTALL_BINDIR}
    COMPONENT sccl)
endforeach()

# What libsccl loads beside itself.
if(TARGET sccl-ucx)
  add_dependencies(sccl-product sccl-ucx)
  set_target_properties(sccl-ucx PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS sccl-ucx LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT sccl NAMELINK_SKIP)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sccl)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT sccl
  PATTERN "CMakeLists.txt" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/docs/examples/out-of-tree/CMakeLists.txt
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/examples/out-of-tree COMPONENT sccl)

set(SCCL_PYTHON_DIR lib/python3/dist-packages CACHE STRING
  "Where the Python package is installed, below the prefix")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/sccl
  DESTINATION ${SCCL_PYTHON_DIR} COMPONENT python
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)

install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man/
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT sccl
  FILES_MATCHING PATTERN "*.1")
foreach(completion IN ITEMS sccl.bash:bash-completion/completions:sccl
    _sccl:zsh/site-functions:_sccl sccl.fish:fish/vendor_completions.d:sccl.fish)
  string(REPLACE ":" ";" parts ${completion})
  list(GET parts 0 file)
  list(GET parts 1 folder)
  list(GET parts 2 name)
  install(FILES ${PROJECT_BINARY_DIR}/share/${file} RENAME ${name}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT sccl)
endforeach()

# The compiler, for those who add to it.
set_target_properties(sccl-opt sccl-translate sccl-lsp-server PROPERTIES
  INSTALL_RPATH "$ORIGIN/${lib_from_bin};${LLVM_LIBRARY_DIR}")
install(TARGETS sccl-opt sccl-translate sccl-lsp-server
  DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
get_property(libraries GLOBAL PROPERTY SCCL_LIBRARIES)
foreach(library IN LISTS libraries)
  target_include_directories(${library} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS ${libraries} EXPORT scclCompilerTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(EXPORT scclCompilerTargets NAMESPACE sccl:: DESTINATION ${package_dir}
  COMPONENT compiler)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sccl
                  ${PROJECT_BINARY_DIR}/include/sccl
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT compiler
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN "*.inc"
  PATTERN "CMakeFiles" EXCLUDE)
# The .td files of a dialect include each other as "Coll/...", from here.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sccl/Dialect COMPONENT compiler
  FILES_MATCHING PATTERN "*.td")
