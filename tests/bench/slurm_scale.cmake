# SPDX-License-Identifier: Apache-2.0
# tests/bench/slurm-scale times select plugins inside a live slurmctld; this builds its clock and runs it small.
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/slurm_timed)
if(TARGET select_cons_tres_timed)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME slurm_scale_quick COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/slurm-scale-check
    --libs $<TARGET_FILE_DIR:select_cons_tres_timed>)
  set_tests_properties(slurm_scale_quick PROPERTIES LABELS "slurm;bench" TIMEOUT 180 RUN_SERIAL ON)
endif()
