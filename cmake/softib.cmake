# SPDX-License-Identifier: BSD-2-Clause
# Compiler settings shared by every target, and the functions that make a layer.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

add_library(softib_options INTERFACE)
target_include_directories(softib_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(softib_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor>
    -fno-semantic-interposition)
# GCC 12's library uses within std::stable_sort what it has itself declared deprecated.
target_compile_options(softib_options INTERFACE
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# GCC collects garbage from 128 MiB on, which takes a tenth of its time for a unity build.
target_compile_options(softib_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
# GCC 13 suspects every reference that a function with a temporary among its arguments returns.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(softib_options INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
endif()
if(SOFTIB_WERROR)
    target_compile_options(softib_options INTERFACE -Werror)
endif()
if(SOFTIB_SANITIZE)
    target_compile_options(softib_options INTERFACE
        -fsanitize=${SOFTIB_SANITIZE} -fno-omit-frame-pointer)
    if(SOFTIB_SANITIZE MATCHES "undefined")
        # What it finds fails the test instead of being told in its log. To look at the type of an
        # object it needs descriptors, which tests take from programs.
        target_compile_options(softib_options INTERFACE
            -fno-sanitize-recover=undefined -fno-sanitize=vptr)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
            # Functions of other people's headers are checked by AddressSanitizer alone, and what
            # an object's size tells, AddressSanitizer knows better: a fifth of the compiler's time.
            target_compile_options(softib_options INTERFACE -fno-sanitize=object-size
                -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/not_checked_by_ubsan.txt)
        endif()
    endif()
    target_link_options(softib_options INTERFACE -fsanitize=${SOFTIB_SANITIZE})
    # A program with UBSan has up to a million addresses that the loader would have to fill in, and
    # tests start thousands of programs. Libraries are linked with -fPIC all the same.
    target_link_options(softib_options INTERFACE
        $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
    target_compile_definitions(softib_options INTERFACE SOFTIB_SANITIZED=1)
    # One run-time in a process: libraries and programs share it.
    string(REGEX MATCH "address|thread" runtime ${SOFTIB_SANITIZE})
    string(REGEX REPLACE "^(.).*" "\\1san" runtime ${runtime})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        set(runtime "libclang_rt.${runtime}-${CMAKE_SYSTEM_PROCESSOR}.so")
    else()
        set(runtime "lib${runtime}.so")
    endif()
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${runtime}
                    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(REAL_PATH ${runtime} SOFTIB_SANITIZER_LIBRARY)
    # Programs that load our libraries must load it before all else: softib exec reads this file.
    file(WRITE ${SOFTIB_SHIM_OUTPUT}/first_library ${SOFTIB_SANITIZER_LIBRARY}\n)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT SOFTIB_FUZZ)
        cmake_path(GET SOFTIB_SANITIZER_LIBRARY PARENT_PATH runtime_folder)
        target_link_options(softib_options INTERFACE
            -shared-libsan -Wl,-rpath,${runtime_folder})
    endif()
    find_program(SOFTIB_CLANG_LINKER ld.lld-19)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND SOFTIB_CLANG_LINKER)
        # It takes a third of the time, with 80 programs to link.
        target_link_options(softib_options INTERFACE --ld-path=${SOFTIB_CLANG_LINKER})
    endif()
    if(SOFTIB_SANITIZE MATCHES "thread")
        # GCC warns that TSan ignores fences; the code that relies on a bare fence says how it
        # stays correct under TSan.
        target_compile_options(softib_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    endif()
endif()

# What tests are made of: they run once for each time they are compiled. A check that fails names
# its line without debug information.
add_library(softib_test_options INTERFACE)
target_link_libraries(softib_test_options INTERFACE softib_options)
target_compile_options(softib_test_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-O0 -g0>)
if(CMAKE_UNITY_BUILD)
    # GCC takes the sources of a unity build for headers, in which a test's fixture were visible.
    target_compile_options(softib_test_options INTERFACE
        $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()

add_library(softib_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_once.cc)
target_include_directories(softib_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
if(SOFTIB_SANITIZE)
    target_compile_options(softib_fmt PRIVATE -fsanitize=${SOFTIB_SANITIZE})
endif()

# What the tests labelled unit or sanitize need, and no more: make test-asan and test-tsan build it.
add_custom_target(sanitized)

# SOFTIB_COLD: the compiler's option for code that computes little. Sanitizers see as much in code
# that is not optimised, and clang takes 2.4 times as long to optimise as to compile. GCC takes a
# fifth less time with -O1 than with -O2, and a third less with -Og.
if(SOFTIB_SANITIZE)
    set(level -O0)
elseif(SOFTIB_QUICK)
    set(level -Og)
else()
    set(level -O1)
endif()
set(SOFTIB_COLD $<$<CONFIG:RelWithDebInfo>:${level}>)

# softib_layer(name [OPTIMIZED | COLD | FOR_TESTS] SOURCES... DEPENDS...): one static library per
# folder of src/. It is built for the programs that need it, and not where only a test does that
# this build has not.
# OPTIMIZED: tests compute so much with it that optimising pays, also with a sanitizer or with
# SOFTIB_QUICK.
# COLD: it reads, prints or starts something, and nobody waits for it, so that it is never optimised
# much.
# FOR_TESTS: tests and fuzzers alone use it, so that it is compiled like them.
function(softib_layer name)
    cmake_parse_arguments(ARG "OPTIMIZED;COLD;FOR_TESTS" "" "SOURCES;DEPENDS" ${ARGN})
    add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC softib_options ${ARG_DEPENDS})
    if(ARG_FOR_TESTS)
        target_link_libraries(${name} PRIVATE softib_test_options)
        set_target_properties(${name} PROPERTIES SOFTIB_FOR_TESTS TRUE)
    elseif(ARG_COLD OR (NOT ARG_OPTIMIZED AND (SOFTIB_SANITIZE OR SOFTIB_QUICK)))
        target_compile_options(${name} PRIVATE ${SOFTIB_COLD})
    endif()
endfunction()

# What every test includes is compiled once.
if(SOFTIB_TESTS)
    find_package(GTest REQUIRED)
    add_executable(softib_test_headers EXCLUDE_FROM_ALL
                   ${CMAKE_CURRENT_LIST_DIR}/test_headers.cc)
    target_link_libraries(softib_test_headers PRIVATE softib_test_options GTest::gtest)
    target_precompile_headers(softib_test_headers PRIVATE ${CMAKE_CURRENT_LIST_DIR}/test_headers.h)
endif()

# softib_unit_test(name [OPTIMIZED] [UNSANITIZED | PLANNER] SOURCES... DEPENDS...): a GoogleTest
# binary; one ctest entry per case, or with a sanitizer one in all.
# OPTIMIZED: the test computes so much itself that optimising it pays, unless it is short.
# UNSANITIZED: it cannot run with AddressSanitizer, so that every build without one has it. All
# others make test runs with that sanitizer alone (SOFTIB_UNIT_TESTS).
# PLANNER: it tests what no fabric runs, so that make test runs it without a sanitizer, and
# make test-long with one.
# They have one thread each, but for parallel_test, so ThreadSanitizer's build has none of them.
function(softib_unit_test name)
    cmake_parse_arguments(ARG "OPTIMIZED;UNSANITIZED;PLANNER" "" "SOURCES;DEPENDS" ${ARGN})
    if(NOT SOFTIB_TESTS OR SOFTIB_SANITIZE MATCHES "thread"
       OR (ARG_PLANNER AND NOT SOFTIB_PLANNER)
       OR NOT (SOFTIB_UNIT_TESTS OR SOFTIB_SANITIZE OR ARG_UNSANITIZED OR ARG_PLANNER))
        return()
    endif()
    include(GoogleTest)
    add_executable(${name} ${ARG_SOURCES})
    add_dependencies(sanitized ${name})
    if(NOT SOFTIB_UNIT_TESTS)
        target_compile_definitions(${name} PRIVATE SOFTIB_SHORT_TESTS=1)
    endif()
    if(ARG_OPTIMIZED AND SOFTIB_UNIT_TESTS)
        target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    else()
        target_precompile_headers(${name} REUSE_FROM softib_test_headers)
    endif()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_link_libraries(${name} PRIVATE
        softib_test_options ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
    if(SOFTIB_SANITIZE)
        # A sanitizer's run-time takes longer to start than most cases to run.
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES LABELS unit PROCESSORS 2 TIMEOUT 600)
        if(ARG_PLANNER)
            set_property(TEST ${name} APPEND PROPERTY LABELS long)
        endif()
    else()
        gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                             PROPERTIES LABELS unit PROCESSORS 2 TIMEOUT 300)
    endif()
endfunction()
