# SPDX-License-Identifier: Apache-2.0
atoll_test(topo_discover discover_test.cpp fake_sysfs.cpp LIBS topo)
