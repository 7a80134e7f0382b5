# SPDX-License-Identifier: BSD-2-Clause
# Expects the same log hash for the same seed in another process, whose addresses differ.
set(tests Faults.WhateverGoesWrongCreditsAndCountersAddUp Management.BringUpIsTheSameEveryTime
    Network.SameRunSameHashAlsoTwiceInOneProcessAndWithOtherBuckets TransportHosts.SameSeedSameRun)
list(JOIN tests ":" filter)
foreach(process first second)
    execute_process(COMMAND ${PROGRAM} --gtest_filter=${filter}
                            --gtest_output=xml:${OUTPUT}.${process}
                    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${OUTPUT}.${process} xml)
    string(REGEX MATCHALL "log_hash\"? ?(value)?=\"[0-9]+" ${process} "${xml}")
endforeach()
list(LENGTH tests expected)
list(LENGTH first found)
if(NOT found EQUAL expected)
    message(FATAL_ERROR "${found} hashes of ${expected} runs: ${first}")
endif()
if(NOT first STREQUAL second)
    message(FATAL_ERROR "one process: ${first}, another: ${second}")
endif()
