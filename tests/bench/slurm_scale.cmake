# SPDX-License-Identifier: Apache-2.0
# tests/bench/slurm-scale times select plugins inside a live slurmctld; this builds its clock.
add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/slurm_timed)
