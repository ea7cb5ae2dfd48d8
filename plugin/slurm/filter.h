/* SPDX-License-Identifier: GPL-2.0-or-later
 * What sits between Slurm and the inner select plugin. The shim of a Slurm version calls these around the
 * inner plugin's functions; Atoll implements them in decide.c, the benchmark's timer in
 * tests/bench/slurm_timed/timed.c. All run in slurmctld only, but for filter_inner_type().
 */
#ifndef ATOLL_SLURM_FILTER_H
#define ATOLL_SLURM_FILTER_H

#include "plugin/slurm/slurm_headers.h"

/* Identity of the plugin, set when it is compiled. */
#ifndef ATOLL_PLUGIN_TYPE
#define ATOLL_PLUGIN_TYPE "select/cons_tres_atoll"
#define ATOLL_PLUGIN_NAME "Atoll: consumable resources placed by measured cost"
#define ATOLL_PLUGIN_ID 0x6174u /* "at"; Slurm's own ids are below 200 */
#endif

typedef int (*filter_job_test_fn)(job_record_t *, bitstr_t *, uint32_t, uint32_t, uint32_t, uint16_t, List, List *,
                                  bitstr_t *);

/* "select/cons_tres", or what else is to be wrapped. */
const char *filter_inner_type(void);
/* The inner plugin was loaded. `handle` is its dlopen handle. */
void filter_start(void *handle, filter_job_test_fn inner);
void filter_stop(void);
/* The node table was built or rebuilt (start and reconfigure); the inner plugin has done its part. */
void filter_node_table(void);
void filter_reconfigured(void);
/* Resources of these nodes change: told before and after, then once that the change is complete. */
void filter_nodes_changed(bitstr_t *nodes);
void filter_node_changed(uint32_t node);
void filter_changes_done(void);
int filter_job_test(job_record_t *job, bitstr_t *nodes, uint32_t min_nodes, uint32_t max_nodes, uint32_t req_nodes,
                    uint16_t mode, List preemptee_candidates, List *preemptee_jobs, bitstr_t *exc_cores);

#endif
