# SPDX-License-Identifier: BSD-2-Clause
# Read by cpack itself: what an archive does differently from a package. Nothing in it is tied to a
# place, and what measures other machines travels along.
if(CPACK_GENERATOR STREQUAL "TGZ")
    set(CPACK_PACKAGING_INSTALL_PREFIX /)
    set(CPACK_PACKAGE_FILE_NAME
        ${CPACK_PACKAGE_NAME}-${CPACK_PACKAGE_VERSION}-${CPACK_ARCHIVE_SYSTEM})
    list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
    list(APPEND CPACK_INSTALL_CMAKE_PROJECTS ${build} ${CPACK_PACKAGE_NAME} measuring /)
endif()
