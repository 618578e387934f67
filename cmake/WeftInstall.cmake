# SPDX-License-Identifier: Apache-2.0
#
# WeftInstall — what `cmake --install` puts where: the library, its headers, a CMake package, a pkg-config file, and the
# commands for gdb.
include(CMakePackageConfigHelpers)

set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

install(
  TARGETS weft weft_user_flags
  EXPORT weftTargets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION "${weft_package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in" "${PROJECT_BINARY_DIR}/weftConfig.cmake"
  INSTALL_DESTINATION "${weft_package_dir}"
)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake"
        DESTINATION "${weft_package_dir}")

# Relocatable: every path in weft.pc hangs off the directory that the file itself lies in.
file(RELATIVE_PATH weft_pc_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" weft_pc_to_prefix "${weft_pc_to_prefix}")
set(weft_pc_cflags "")
if(WEFT_HAS_STACK_CLASH_PROTECTION)
  set(weft_pc_cflags "-fstack-clash-protection")
endif()
set(weft_pc_private_libs "${CMAKE_DL_LIBS}")
if(weft_pc_private_libs)
  string(PREPEND weft_pc_private_libs "-l")
endif()
if(WEFT_USES_BOOST_SWITCH)
  string(APPEND weft_pc_private_libs " -lboost_context")
endif()
# A static library's dependencies are everybody's business.
get_target_property(weft_type weft TYPE)
set(weft_pc_libs "")
if(weft_type STREQUAL "STATIC_LIBRARY")
  set(weft_pc_libs "${weft_pc_private_libs}")
  set(weft_pc_private_libs "")
endif()
if(WEFT_SINGLE_THREADED)
  string(APPEND weft_pc_cflags " -DWEFT_SINGLE_THREADED")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/weft.pc.in" "${PROJECT_BINARY_DIR}/weft.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/weft.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/weft")
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/weft.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/weft/gdb")
