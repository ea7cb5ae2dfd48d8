/* SPDX-License-Identifier: GPL-2.0-or-later
 * Between the parts of the select plugin that know Slurm's structures:
 *   shim_<version>.c  the symbols that Slurm asks a select plugin for; hands all to an inner plugin
 *   filter.h          what sits between Slurm and the inner plugin (Atoll: decide.c; the benchmark's timer: its own)
 *   open_glue.c       finds the glue (C++), which holds cluster, placer and counters
 *   decide.c          one job_test: describe, choose, narrow, call, relax
 *   job_view.c        a job record as a wish
 *   node_view.c       a node record as a state; masking its GPUs for one call
 * Slurm's headers come first in each file, through slurm_headers.h.
 */
#ifndef ATOLL_SLURM_SHIM_H
#define ATOLL_SLURM_SHIM_H

#include "plugin/slurm/filter.h"
#include "plugin/slurm/glue.h"
#include "plugin/slurm/slurm_headers.h"

/* --- open_glue.c --- */

/* The functions of atoll_slurm_glue.so, which lies beside this file (beside what it links to, when it is a link).
 * NULL, with an error line that says why, when it cannot be used. */
const struct atoll_glue_api *atoll_open_glue(void);

/* --- job_view.c --- */

/* Describes the job. Returns NULL, or why the job is to be left to Slurm (a static text). */
const char *atoll_view_job(job_record_t *job, uint32_t min_nodes, uint32_t max_nodes, uint32_t req_nodes,
                           uint32_t gpu_id, struct atoll_wish *wish);

/* What the user said with --atoll; NULL: nothing. */
const char *atoll_job_hint(const job_record_t *job);

/* Nodes without Cores= or Links= in gres.conf have no rows to mask: there the GPUs are written into the job's
 * own selection after the inner plugin said yes, where Slurm looks when it books them. Does nothing on other
 * nodes, or when the counts differ. */
void atoll_pin_gpus(job_record_t *job, uint32_t gpu_id, uint32_t node, uint64_t wanted);
/* Takes such selections of an earlier call back: before every call that may start the job. */
void atoll_unpin_gpus(job_record_t *job, uint32_t gpu_id);

/* --- node_view.c --- */

struct atoll_undo {
    uint64_t *where;
    uint64_t old;
};

/* A log of changed words, undone in reverse. Room is made once. */
struct atoll_undo_log {
    struct atoll_undo *entries;
    uint32_t used;
    uint32_t room;
};

/* Symbols of the inner cons_tres plugin, for the cores and memory in use. Either may be missing. */
struct atoll_inner_state {
    void **part_record; /* part_res_record_t ** */
    void **node_usage;  /* node_use_record_t ** */
};

/* Changes when a node is added, removed, renamed or gets other sockets or cores. O(nodes). */
uint64_t atoll_node_table_hash(void);
void atoll_view_node(const struct atoll_inner_state *inner, uint32_t gpu_id, uint32_t node, uint32_t expected_gpus,
                     struct atoll_node_state *out);
/* Marks all free GPUs but `wanted` busy and notes how to undo it. Leaves a node alone whose rows it does
 * not understand, or when the log is full. */
void atoll_mask_gpus(uint32_t gpu_id, uint32_t node, uint64_t wanted, struct atoll_undo_log *undo);
void atoll_undo_all(struct atoll_undo_log *undo);
/* GPUs with a File= each but in no row: Slurm picks among them when it books the job, not before. */
bool atoll_gpus_are_unplaced(uint32_t gpu_id, uint32_t node);
/* How many GPUs such a node has; only after atoll_gpus_are_unplaced(). */
uint32_t atoll_gpu_bits(uint32_t gpu_id, uint32_t node);
/* Sets in `far` (a bitmap over all cores of the cluster) the cores of the node that are not near to the
 * GPUs: by the Cores= of gres.conf, else by `sockets` (0: unknown). Returns how many near CPUs are free;
 * UINT32_MAX when nothing is known or nothing is far (then nothing is set). */
uint32_t atoll_far_cores(const struct atoll_inner_state *inner, uint32_t gpu_id, uint32_t node, uint64_t gpus,
                         uint64_t sockets, bitstr_t *far);

#endif
