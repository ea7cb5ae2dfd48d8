# SPDX-License-Identifier: Apache-2.0
add_executable(load_bench ${CMAKE_CURRENT_LIST_DIR}/load_bench.cpp ${CMAKE_SOURCE_DIR}/tests/topo/sample_cluster.cpp)
target_link_libraries(load_bench PRIVATE placement benchmark::benchmark fmt::fmt)
set_target_properties(load_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
