# SPDX-License-Identifier: BSD-2-Clause
# softib_verbs_symbols(target): make the shared library `target` a drop-in libibverbs.so.1: its
# name and links, its version nodes, its exported trampolines and the stubs behind them.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(SOFTIB_VERBS_SYMBOLS_DIR ${CMAKE_CURRENT_LIST_DIR})

function(softib_verbs_symbols target)
    set(here ${SOFTIB_VERBS_SYMBOLS_DIR})
    set(generator ${CMAKE_SOURCE_DIR}/tools/gen_verbs_symbols.py)
    set(map ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
    set(assembly ${CMAKE_CURRENT_BINARY_DIR}/${target}_symbols.S)

    add_custom_command(
        OUTPUT ${map} ${assembly}
        COMMAND ${Python3_EXECUTABLE} ${generator}
                --symbols ${here}/symbols.txt --implemented ${here}/implemented.txt
                --version-script ${map} --assembly ${assembly}
        DEPENDS ${generator} ${here}/symbols.txt ${here}/implemented.txt
        COMMENT "Generating the symbol versions of libibverbs.so.1"
        VERBATIM)

    target_sources(${target} PRIVATE
        ${assembly}
        ${here}/fork.cc
        ${here}/kern_attr.cc
        ${here}/resolve_eth.cc
        ${here}/strings.cc
        ${here}/stubs.cc
        ${here}/sysfs_path.cc)

    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ibverbs
        VERSION 1
        SOVERSION 1
        LIBRARY_OUTPUT_DIRECTORY ${SOFTIB_SHIM_OUTPUT}
        LINK_DEPENDS ${map})

    # A unique symbol would make the loader keep one copy for us and for the program's own
    # libstdc++; the library must stay mapped because its threads outlive a dlclose().
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
    target_link_options(${target} PRIVATE
        -Wl,--version-script=${map}
        -Wl,-z,now -Wl,-z,nodelete
        -static-libstdc++ -static-libgcc)
    if(NOT SOFTIB_SANITIZE)
        target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
endfunction()
