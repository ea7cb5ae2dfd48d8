// SPDX-License-Identifier: Apache-2.0
#include "topo/cost.hpp"

#include <doctest/doctest.h>
