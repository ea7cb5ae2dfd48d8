// SPDX-License-Identifier: Apache-2.0
#include "topo/hostlist.hpp"

#include <doctest/doctest.h>
