# `cpack` in the build folder: packages for Debian 12, one per component.
#   sccl         the tool, its man pages and completions
#   libsccl0     the libraries that programs run plans with
#   libsccl-dev  headers, CMake package and pkg-config file
#   python3-sccl the Python package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sccl)
set(CPACK_PACKAGE_VENDOR sccl)
set(CPACK_PACKAGE_CONTACT "The developers of sccl <sccl@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "optimal collective algorithms")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL sccl libsccl dev python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SCCL_PACKAGE_NAME sccl)
set(CPACK_DEBIAN_SCCL_PACKAGE_DEPENDS
  "libsccl0 (= ${PROJECT_VERSION}), lld-22")
set(CPACK_DEBIAN_LIBSCCL_PACKAGE_NAME libsccl0)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libsccl-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libsccl0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-sccl)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
  "python3, libsccl0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "sccl, python3-numpy, python3-torch")
foreach(component IN ITEMS SCCL LIBSCCL DEV PYTHON)
  set(CPACK_DEBIAN_${component}_DESCRIPTION
    "optimal collective algorithms for the interconnect of a machine")
endforeach()
include(CPack)
