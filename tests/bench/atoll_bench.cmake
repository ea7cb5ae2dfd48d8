# SPDX-License-Identifier: Apache-2.0
# build/release/bin/atoll-bench: one program for the speed of everything in placement/. A new benchmark is one more
# source file here; main() is in main_bench.cpp.
add_executable(atoll-bench
  ${CMAKE_CURRENT_LIST_DIR}/main_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/big_cluster.cpp
  ${CMAKE_CURRENT_LIST_DIR}/map_instances.cpp
  ${CMAKE_CURRENT_LIST_DIR}/node_choice_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/pattern_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/rank_map_bench.cpp
  ${CMAKE_CURRENT_LIST_DIR}/scotch_map.cpp
  ${CMAKE_CURRENT_LIST_DIR}/subset_bench.cpp)
target_link_libraries(atoll-bench PRIVATE placement benchmark::benchmark)
# Scotch is only compared with: where libscotch-dev is there, and never in the product.
find_path(ATOLL_SCOTCH_INCLUDE scotch.h PATH_SUFFIXES scotch-int32 scotch)
find_library(ATOLL_SCOTCH_LIBRARY scotch)
find_library(ATOLL_SCOTCH_ERRORS scotcherr)
if(ATOLL_SCOTCH_INCLUDE AND ATOLL_SCOTCH_LIBRARY AND ATOLL_SCOTCH_ERRORS)
  target_compile_definitions(atoll-bench PRIVATE ATOLL_SCOTCH)
  target_include_directories(atoll-bench SYSTEM PRIVATE ${ATOLL_SCOTCH_INCLUDE})
  target_link_libraries(atoll-bench PRIVATE ${ATOLL_SCOTCH_LIBRARY} ${ATOLL_SCOTCH_ERRORS})
endif()
