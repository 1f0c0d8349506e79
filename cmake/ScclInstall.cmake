# What `cmake --install` installs: libsccl with its header, CMake package and
# pkg-config file, and the driver. Programs need nothing but libsccl.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sccl)

install(TARGETS libsccl EXPORT scclTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsccl)
install(FILES ${PROJECT_SOURCE_DIR}/include/sccl/sccl.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sccl COMPONENT libsccl)
install(EXPORT scclTargets NAMESPACE sccl:: DESTINATION ${package_dir}
  COMPONENT libsccl)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/scclConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/scclConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/scclConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/scclConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/scclConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT libsccl)
# Relative, for `cmake --install --prefix` and for folders that are moved.
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
file(RELATIVE_PATH lib_from_prefix ${CMAKE_INSTALL_PREFIX}
  ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH include_from_prefix ${CMAKE_INSTALL_PREFIX}
  ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/sccl.pc.in
  ${PROJECT_BINARY_DIR}/cmake/sccl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/sccl.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libsccl)

# The driver finds its libraries, and those for MPI, at ../lib; MLIR's where they
# were when it was built.
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR}
  ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(sccl PROPERTIES
  INSTALL_RPATH "$ORIGIN/${lib_from_bin};${LLVM_LIBRARY_DIR}")
install(TARGETS sccl DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sccl)
foreach(mpi IN LISTS SCCL_MPIS)
  install(TARGETS sccl-${mpi} DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT sccl)
endforeach()
