/* SPDX-License-Identifier: GPL-2.0-or-later
 * The C ABI between spank_atoll.so (which Slurm loads into every command and step) and atoll_slurm_glue.so, which only
 * the steps of jobs with GPUs open: what the cluster file says of the node that the step runs on.
 *
 * No function throws, aborts or starts a thread; any input is allowed. Nothing is written.
 */
#ifndef ATOLL_NODE_SIDE_H
#define ATOLL_NODE_SIDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATOLL_NODE_ABI 1
#define ATOLL_MOST_GPUS 64
#define ATOLL_CPU_WORDS 64 /* CPUs 0 … 4095 */

struct atoll_node;

struct atoll_gpu_place {
    const char *nic;     /* verbs or net name of the nearest NIC; NULL: none known. Valid until close */
    int numa;            /* CPU-bearing NUMA node; -1 unknown */
    uint64_t cpus[ATOLL_CPU_WORDS]; /* CPUs of that NUMA node; all 0: unknown */
};

struct atoll_node_api {
    uint32_t abi; /* ATOLL_NODE_ABI */
    /* Reads the configuration (NULL: $ATOLL_CONF, else /etc/atoll/atoll.yaml) and the cluster file it names.
     * NULL with `why` "" where Atoll is not configured or off or the node is not in the file; NULL with a message where
     * something is wrong. O(cluster file). */
    struct atoll_node *(*open)(const char *config, const char *host, char *why, size_t size);
    void (*close)(struct atoll_node *node);
    /* The GPUs of `mask` in ring order; how many, 0 where the class has not all of them. */
    uint32_t (*ring_order)(const struct atoll_node *node, uint64_t mask, uint8_t out[ATOLL_MOST_GPUS]);
    /* 0 where the class has no such GPU. */
    int (*gpu_place)(const struct atoll_node *node, uint32_t gpu, struct atoll_gpu_place *out);
    const char *(*nccl_topo_file)(const struct atoll_node *node); /* NULL: none configured */
    /* Hosts of a Slurm node list in rank order, as a list that keeps the order, and as lines: each host as often as
     * `tasks` (SLURM_TASKS_PER_NODE, in the order of the node list) says. 0 where a host is unknown, a text cannot be
     * read or the room does not suffice. */
    int (*rank_hosts)(const struct atoll_node *node, const char *hosts, const char *tasks, char *list, size_t list_size,
                      char *lines, size_t lines_size);
};
const struct atoll_node_api *atoll_node_entry(void);

#ifdef __cplusplus
}
#endif
#endif
