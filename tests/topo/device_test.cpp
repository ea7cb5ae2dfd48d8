// SPDX-License-Identifier: Apache-2.0
#include "topo/device.hpp"

#include <doctest/doctest.h>
