# Open MPI and MPICH have different ABIs and may both be installed, so what links
# MPI is built once for each that is there. SCCL_MPIS lists them, as their packages
# and mpirun.NAME are called in Debian. Nothing else needs them. UCX carries messages
# of ranks on several hosts that have no MPI.
find_package(PkgConfig QUIET)
set(SCCL_MPIS)
if(PkgConfig_FOUND)
  pkg_check_modules(openmpi QUIET IMPORTED_TARGET GLOBAL ompi-c)
  pkg_check_modules(mpich QUIET IMPORTED_TARGET GLOBAL mpich)
  pkg_check_modules(ucx QUIET IMPORTED_TARGET GLOBAL ucx)
endif()
foreach(mpi IN ITEMS openmpi mpich)
  if(TARGET PkgConfig::${mpi})
    list(APPEND SCCL_MPIS ${mpi})
  endif()
endforeach()
message(STATUS "MPI to start ranks with: ${SCCL_MPIS}")
