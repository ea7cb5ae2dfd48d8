/* SPDX-License-Identifier: GPL-2.0-or-later
 * The C ABI between the Slurm shim (C, knows Slurm's structures) and the glue (C++, holds the cluster,
 * the placer, the configuration and the counters). Plain C, no Slurm type.
 *
 * The glue lives in its own shared object (atoll_slurm_glue.so) that only slurmctld loads: the select
 * plugin itself is loaded by every Slurm command and must stay small.
 *
 * Every function may be called with any input; none throws, aborts or starts a thread. After
 * atoll_glue_load() nothing allocates and no file is read. One thread at a time (slurmctld holds its
 * node write lock around all of these).
 *
 * Units: memory in MB as Slurm counts it, times in µs unless the name says ns.
 */
#ifndef ATOLL_SLURM_GLUE_H
#define ATOLL_SLURM_GLUE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATOLL_GLUE_ABI 3
#define ATOLL_DEFAULT_CONFIG "/etc/atoll/atoll.yaml"
#define ATOLL_DEFAULT_STATS "/run/atoll/slurm.stats" /* only where the folder is there */
#define ATOLL_ANY_TYPE 0u           /* a wish for GPUs of any type */
#define ATOLL_MIXED_TYPES 0xffffffffu /* a node that holds GPUs of several types */

enum atoll_log_level { ATOLL_LOG_ERROR, ATOLL_LOG_INFO, ATOLL_LOG_DEBUG };
typedef void (*atoll_log_fn)(void *context, enum atoll_log_level level, const char *text);

/* A node of Slurm's table, in its order. name NULL: an unused slot. */
struct atoll_node_info {
    const char *name;
    uint32_t sockets; /* as Slurm counts them; 0: unknown */
    uint32_t cpus;    /* all that jobs may use; 0: unknown */
};

#define ATOLL_NODE_OPEN 0x1u             /* takes jobs beside those it runs */
#define ATOLL_NODE_IDLE 0x2u             /* no core and no GPU in use */
#define ATOLL_NODE_MEMORY_UNTOUCHED 0x4u /* no memory allocated */

#define ATOLL_MOST_SOCKETS 8

/* What Slurm says about a node now. */
struct atoll_node_state {
    uint64_t free_gpus; /* bit i: GPU i of the node is free */
    uint64_t free_memory;
    uint32_t weight;    /* lower is taken first, as Weight= of slurm.conf */
    uint32_t type;      /* Slurm's id of the GPU type; 0 untyped; ATOLL_MIXED_TYPES */
    uint32_t free_cpus;
    uint32_t gpus;      /* how many GPUs Slurm counts; differs from the cluster file: never chosen */
    uint32_t flags;     /* ATOLL_NODE_* */
    uint16_t socket_cpus[ATOLL_MOST_SOCKETS]; /* free CPUs of each socket; further sockets are not told */
};

/* What a job asks. GPUs whose sockets have too few free CPUs for it are avoided where others do as well.
 * Exactly one of gpus_per_node, gpus_total, gpus_per_task is not 0. */
struct atoll_wish {
    const uint64_t *allowed; /* bit i of word i/64: node i may be used; node_words() words */
    uint32_t min_nodes;
    uint32_t max_nodes;
    uint32_t req_nodes; /* wanted, between the two */
    uint64_t gpus_per_node;
    uint64_t gpus_total;
    uint64_t gpus_per_task;
    uint32_t tasks;          /* 0: unknown */
    uint32_t tasks_per_node; /* 0: unknown */
    uint32_t cpus_total;     /* 0: nothing asked */
    uint32_t cpus_per_node;  /* at least so many on each node */
    uint32_t cpus_per_gpu;
    uint64_t memory_per_node;
    uint64_t memory_per_gpu;
    uint32_t type;          /* ATOLL_ANY_TYPE or Slurm's id */
    uint32_t flags;         /* ATOLL_NODE_* that a node must have */
    uint32_t job_id;        /* for messages */
    const char *hint;       /* what the user said with --atoll, or NULL; anything may stand there */
    uint32_t ignore_state;  /* 1: may ever run? Any nodes with the hardware will do, busy or not */
};

struct atoll_share {
    uint32_t node; /* index in Slurm's table */
    uint64_t gpus;
};

/* Valid until the next call of atoll_glue_choose or _load. */
struct atoll_choice {
    const struct atoll_share *shares; /* ascending by node */
    uint32_t nodes;
    uint32_t gpus_per_node; /* of the node with most */
    double step_us; /* predicted time of a step; 0 when ignore_state */
    double damage;  /* 0 … 1 */
};

enum atoll_verdict {
    ATOLL_CHOSEN,
    ATOLL_NO_FIT,  /* no set of allowed nodes has what is asked now */
    ATOLL_SKIPPED, /* not loaded, mode off, or a wish that this version leaves to Slurm */
    ATOLL_FAILED,  /* an inner error; logged once with its remedy */
};

/* Where a decision ended. The order is the order of relaxing. */
enum atoll_step {
    ATOLL_STEP_FULL,        /* nodes narrowed, GPUs masked, far cores excluded as far as they applied */
    ATOLL_STEP_NEAR_CORES,  /* gave up: far cores allowed */
    ATOLL_STEP_GPU_MASK,    /* gave up: any free GPU of the chosen nodes */
    ATOLL_STEP_NODES,       /* gave up: Slurm's own choice */
    ATOLL_STEP_NO_FIT,      /* nothing chosen: Slurm's own answer */
    ATOLL_STEP_PASSED,      /* left to Slurm from the start */
    ATOLL_STEP_COUNT
};

struct atoll_decision {
    uint32_t job_id;
    enum atoll_step step;
    int started;         /* 1: Slurm said yes */
    uint64_t own_ns;     /* spent by Atoll itself */
    uint64_t total_ns;   /* of the whole call */
    const char *nodes;   /* host list or NULL */
    const char *reason;  /* why it was passed on; NULL when it was not */
};

struct atoll_counters {
    uint64_t steps[ATOLL_STEP_COUNT];
    uint64_t own_p50_ns, own_p99_ns; /* upper bounds of their bucket (buckets grow by 19 %) */
    uint64_t total_p50_ns, total_p99_ns;
    uint64_t books;          /* job starts, ends and other changes that nodes were looked at again for */
    uint64_t books_p50_ns, books_p99_ns;
    uint64_t nodes_known;    /* Slurm nodes that the cluster file names */
    uint64_t nodes_unknown;  /* Slurm nodes it does not */
    uint64_t nodes_differing; /* known, but Slurm counts other GPUs than the file */
};

struct atoll_glue; /* one a process */

/* NULL when memory is short. */
struct atoll_glue *atoll_glue_new(atoll_log_fn log, void *context);
void atoll_glue_free(struct atoll_glue *glue);

/* Reads the configuration (config_path; NULL: $ATOLL_CONF, else ATOLL_DEFAULT_CONFIG) and the cluster file
 * that it names, and arranges it in the order of Slurm's node table. Returns 1 when choosing is on.
 *  - no configuration file: one info line, off;
 *  - bad configuration or cluster file, or simulated costs without allow_simulated: one error line with
 *    file, line and remedy; what was loaded before stays in force, else off.
 *  - no memory, or another inner error: logged, off.
 * All nodes are dirty afterwards. O(nodes × levels + classes × 2^gpus). */
int atoll_glue_load(struct atoll_glue *glue, const char *config_path, const struct atoll_node_info *nodes,
                    uint32_t count);
int atoll_glue_active(const struct atoll_glue *glue);
int atoll_glue_logs_decisions(const struct atoll_glue *glue); /* log_decisions of the configuration */
int atoll_glue_excludes_far_cores(const struct atoll_glue *glue);

/* GPUs that the cluster file gives the node; 0: unknown to it. */
uint32_t atoll_glue_expected_gpus(const struct atoll_glue *glue, uint32_t node);
/* Sockets (bit i: socket i) whose NUMA nodes are nearest to the GPUs; 0: unknown. O(gpus). */
uint64_t atoll_glue_sockets(const struct atoll_glue *glue, uint32_t node, uint64_t gpus);

/* Which nodes have to be looked at again before the next choice. words: as atoll_wish.allowed. */
void atoll_glue_mark(struct atoll_glue *glue, const uint64_t *words, uint32_t bits);
void atoll_glue_mark_node(struct atoll_glue *glue, uint32_t node);
void atoll_glue_mark_all(struct atoll_glue *glue);
/* Takes one node off the dirty set; 0 when it is empty. */
int atoll_glue_next_dirty(struct atoll_glue *glue, uint32_t *node);
/* The next node of an endless round over all nodes; 0 when there is none. */
int atoll_glue_next_audit(struct atoll_glue *glue, uint32_t *node);
/* Sets what is known of a node. Returns 1 when that changed anything. O(levels). */
int atoll_glue_set_node(struct atoll_glue *glue, uint32_t node, const struct atoll_node_state *state);

/* 1 when the user asks with `hint` that the job be left to Slurm. A hint that cannot be read is said in a log line, for
 * the first jobs that have one, and ignored. */
int atoll_glue_asks_off(struct atoll_glue *glue, const char *hint, uint32_t job_id);
enum atoll_verdict atoll_glue_choose(struct atoll_glue *glue, const struct atoll_wish *wish, struct atoll_choice *out);

/* Counts a decision, and logs it (level debug; info with log_decisions) when `log` is set. */
void atoll_glue_decided(struct atoll_glue *glue, const struct atoll_decision *decision, int log);
/* Counts one round of looking at changed nodes, outside of a decision. */
void atoll_glue_booked(struct atoll_glue *glue, uint64_t ns);
void atoll_glue_counters(const struct atoll_glue *glue, struct atoll_counters *out);
/* One info line with the counters; nothing when no decision was made. */
void atoll_glue_summary(struct atoll_glue *glue);

/* All of the above, for a shim that opens the glue with dlopen. */
struct atoll_glue_api {
    uint32_t abi; /* ATOLL_GLUE_ABI */
    struct atoll_glue *(*create)(atoll_log_fn, void *);
    void (*destroy)(struct atoll_glue *);
    int (*load)(struct atoll_glue *, const char *, const struct atoll_node_info *, uint32_t);
    int (*active)(const struct atoll_glue *);
    int (*logs_decisions)(const struct atoll_glue *);
    int (*excludes_far_cores)(const struct atoll_glue *);
    uint32_t (*expected_gpus)(const struct atoll_glue *, uint32_t);
    uint64_t (*sockets)(const struct atoll_glue *, uint32_t, uint64_t);
    void (*mark)(struct atoll_glue *, const uint64_t *, uint32_t);
    void (*mark_node)(struct atoll_glue *, uint32_t);
    void (*mark_all)(struct atoll_glue *);
    int (*next_dirty)(struct atoll_glue *, uint32_t *);
    int (*next_audit)(struct atoll_glue *, uint32_t *);
    int (*set_node)(struct atoll_glue *, uint32_t, const struct atoll_node_state *);
    int (*asks_off)(struct atoll_glue *, const char *, uint32_t);
    enum atoll_verdict (*choose)(struct atoll_glue *, const struct atoll_wish *, struct atoll_choice *);
    void (*decided)(struct atoll_glue *, const struct atoll_decision *, int);
    void (*booked)(struct atoll_glue *, uint64_t);
    void (*counters)(const struct atoll_glue *, struct atoll_counters *);
    void (*summary)(struct atoll_glue *);
};
const struct atoll_glue_api *atoll_glue_entry(void);

#ifdef __cplusplus
}
#endif
#endif
