# SPDX-License-Identifier: Apache-2.0
# GetPreferredAllocation over the plugin's own socket, and the published best-effort rule beside it.
if(TARGET atoll-device-plugin)
  add_executable(kube-bench kube_bench.cpp kube_best_effort.cpp)
  target_link_libraries(kube-bench PRIVATE kube_proto kube_core)
  target_compile_definitions(kube-bench PRIVATE ATOLL_DEVICE_PLUGIN="$<TARGET_FILE:atoll-device-plugin>")
  set_target_properties(kube-bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  add_dependencies(kube-bench atoll-device-plugin)
endif()
