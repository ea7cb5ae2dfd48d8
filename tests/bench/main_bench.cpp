// SPDX-License-Identifier: Apache-2.0
// Speed of placement: subsets inside a node, nodes of a cluster, rank maps. docs/measuring.md has commands and
// results; `atoll-bench --benchmark_list_tests` lists the names and `--benchmark_filter=REGEX` chooses among them.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
