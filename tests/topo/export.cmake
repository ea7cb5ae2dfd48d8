# SPDX-License-Identifier: Apache-2.0
atoll_test(topo_export export_test.cpp k8s_export_test.cpp slurm_cores_test.cpp LIBS topo)
