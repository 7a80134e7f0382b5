# SPDX-License-Identifier: BSD-2-Clause
# The Debian package: cpack -G DEB in the build tree. cpack -G TGZ makes a tree to unpack anywhere.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME softib)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the softib developers <softib@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
"softib runs unmodified InfiniBand programs on virtual hosts, joined by a
switched fabric that lives in shared memory. Its libraries stand apart from
the system's and are used only by programs started through softib.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Our shims name libraries of ours; they are found here, not in another package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${SOFTIB_SHIM_OUTPUT})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ibverbs-utils, perftest")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/cpack_archive.cmake)
set(CPACK_ARCHIVE_SYSTEM linux-${CMAKE_SYSTEM_PROCESSOR})
include(CPack)
