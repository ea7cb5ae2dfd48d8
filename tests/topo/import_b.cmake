# SPDX-License-Identifier: Apache-2.0
atoll_test(topo_import_fabric import_slurm_topology_test.cpp import_slurm_yaml_test.cpp import_gres_test.cpp
  import_ib_test.cpp import_topograph_test.cpp LIBS topo)
