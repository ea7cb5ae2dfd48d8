# SPDX-License-Identifier: Apache-2.0
# Readers of one node's devices and links.
atoll_test(topo_import_node
  import_hwloc_xml_test.cpp import_matrix_test.cpp import_nccl_xml_test.cpp import_nvidia_smi_test.cpp
  link_table_test.cpp
  LIBS topo)
