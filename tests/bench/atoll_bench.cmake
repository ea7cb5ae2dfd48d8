# SPDX-License-Identifier: Apache-2.0
# build/release/bin/atoll-bench: one program for the speed of everything in placement/. A new benchmark is one more
# source file here; main() is in main_bench.cpp.
add_executable(atoll-bench
  ${CMAKE_CURRENT_LIST_DIR}/main_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/big_cluster.cpp
  ${CMAKE_CURRENT_LIST_DIR}/node_choice_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/pattern_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/subset_bench.cpp)
target_link_libraries(atoll-bench PRIVATE placement benchmark::benchmark)
