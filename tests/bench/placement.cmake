# SPDX-License-Identifier: Apache-2.0
add_executable(placement_bench ${CMAKE_CURRENT_LIST_DIR}/placement_bench.cpp)
target_link_libraries(placement_bench PRIVATE placement benchmark::benchmark)
set_target_properties(placement_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
