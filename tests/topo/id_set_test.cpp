// SPDX-License-Identifier: Apache-2.0
#include "topo/id_set.hpp"

#include <doctest/doctest.h>
