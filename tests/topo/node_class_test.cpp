// SPDX-License-Identifier: Apache-2.0
#include "topo/node_class.hpp"

#include <doctest/doctest.h>

#include "tests/topo/sample_cluster.hpp"
