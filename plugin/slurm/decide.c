/* SPDX-License-Identifier: GPL-2.0-or-later
 * One job_test: describe the job, choose, narrow, call the inner plugin, relax.
 *
 * The promise: a job that the inner plugin would start now starts now, and no estimate gets later. So every
 * attempt of ours may only say "yes, now"; anything else ends in the untouched call: all nodes of the
 * bitmap, the job and the nodes as they were.
 */
#include "plugin/slurm/shim.h"

#include <dlfcn.h>
#include <time.h>

/* Nodes looked at again a call, in turn, so that a change that no hook told of is seen in the end. */
#define AUDIT_NODES 4
/* Excluding cores makes the inner plugin walk all cores between the first and the last excluded one. */
#define MOST_CORES_WALKED 200000
#define MOST_CHOICES 3

enum { MASK_GPUS = 1 };

static struct {
    filter_job_test_fn inner;
    const struct atoll_glue_api *api;
    struct atoll_glue *glue;
    struct atoll_inner_state state;
    struct atoll_undo_log undo;
    struct atoll_share *shares; /* the choice, kept while the glue is asked again */
    bitstr_t *asked_nodes;      /* the caller's bitmap */
    bitstr_t *far_cores;        /* all zero between calls */
    uint32_t gpu_id;
    uint32_t node_count;
    uint64_t table; /* hash of the node table that was loaded for */
    bool started;
} at;

/* What an attempt may change of the job and the next attempt must find as it was. */
struct job_before {
    time_t start_time, wait4switch_start;
    uint64_t bit_flags, pn_min_memory;
    uint32_t total_cpus, min_cpus;
    uint16_t cpus_per_task;
    bool best_switch;
    uint32_t priority, state_reason; /* where the inner plugin cannot lay out the tasks, it holds the job */
};

static struct job_before note_job(const job_record_t *job)
{
    return (struct job_before){
        .start_time = job->start_time,
        .wait4switch_start = job->wait4switch_start,
        .bit_flags = job->bit_flags,
        .pn_min_memory = job->details->pn_min_memory,
        .total_cpus = job->total_cpus,
        .min_cpus = job->details->min_cpus,
        .cpus_per_task = job->details->cpus_per_task,
        .best_switch = job->best_switch,
        .priority = job->priority,
        .state_reason = job->state_reason,
    };
}

static void restore_job(job_record_t *job, const struct job_before *before)
{
    job->start_time = before->start_time;
    job->wait4switch_start = before->wait4switch_start;
    job->bit_flags = before->bit_flags;
    job->details->pn_min_memory = before->pn_min_memory;
    job->total_cpus = before->total_cpus;
    job->details->min_cpus = before->min_cpus;
    job->details->cpus_per_task = before->cpus_per_task;
    job->best_switch = before->best_switch;
    job->priority = before->priority;
    job->state_reason = before->state_reason;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void log_line(void *context, enum atoll_log_level level, const char *text)
{
    (void)context;
    if (level == ATOLL_LOG_ERROR)
        error("%s", text);
    else
        info("%s", text); /* debug lines are only asked for with DebugFlags=SelectType */
}

const char *filter_inner_type(void)
{
    return "select/cons_tres";
}

void filter_start(void *handle, filter_job_test_fn inner)
{
    at.inner = inner;
    at.state.part_record = dlsym(handle, "select_part_record");
    at.state.node_usage = dlsym(handle, "select_node_usage");
    at.gpu_id = gres_build_id("gpu");
    if (!at.started && (at.api = atoll_open_glue()) && !(at.glue = at.api->create(log_line, NULL)))
        error("atoll: no memory left to start; all calls are passed to select/cons_tres");
    at.started = true;
}

static void free_scratch(void)
{
    xfree(at.undo.entries);
    xfree(at.shares);
    FREE_NULL_BITMAP(at.asked_nodes);
    FREE_NULL_BITMAP(at.far_cores);
}

void filter_stop(void)
{
    if (at.glue) {
        at.api->summary(at.glue);
        at.api->destroy(at.glue);
    }
    at.glue = NULL;
    at.started = false;
    free_scratch();
}

static void make_scratch(void)
{
    uint32_t cores = cr_get_coremap_offset(at.node_count);
    uint64_t words = 2 * (uint64_t)at.node_count;

    free_scratch();
    for (uint32_t i = 0; i < at.node_count; i++)
        words += 2 * (uint64_t)at.api->expected_gpus(at.glue, i);
    at.undo = (struct atoll_undo_log){.entries = xcalloc(words, sizeof(struct atoll_undo)), .room = words};
    at.shares = xcalloc(at.node_count, sizeof(*at.shares));
    at.asked_nodes = bit_alloc(at.node_count);
    at.far_cores = cores ? bit_alloc(cores) : NULL;
}

void filter_node_table(void)
{
    struct atoll_node_info *nodes;

    if (!at.glue)
        return;
    at.api->summary(at.glue);
    at.node_count = node_record_count;
    nodes = xcalloc(at.node_count ? at.node_count : 1, sizeof(*nodes));
    for (uint32_t i = 0; i < at.node_count; i++) {
        const node_record_t *node = node_record_table_ptr[i];
        if (node)
            nodes[i] = (struct atoll_node_info){node->name, node->tot_sockets,
                                                node->cpus_efctv ? node->cpus_efctv : node->cpus};
    }
    at.table = atoll_node_table_hash();
    (void)at.api->load(at.glue, NULL, nodes, at.node_count);
    if (at.api->active(at.glue))
        make_scratch();
    xfree(nodes);
}

static int refresh(uint32_t node)
{
    struct atoll_node_state state;

    atoll_view_node(&at.state, at.gpu_id, node, at.api->expected_gpus(at.glue, node), &state);
    return at.api->set_node(at.glue, node, &state);
}

static uint32_t look_at_dirty(void)
{
    uint32_t node, looked = 0;

    for (; at.api->next_dirty(at.glue, &node); looked++)
        (void)refresh(node);
    return looked;
}

/* Here and not in job_test, where slurmctld's users wait. */
void filter_changes_done(void)
{
    uint64_t begin;

    if (!at.glue || !at.api->active(at.glue))
        return;
    begin = now_ns();
    if (look_at_dirty())
        at.api->booked(at.glue, now_ns() - begin);
}

/* Also called when nodes were created or deleted (scontrol create node): then without filter_node_table(). */
void filter_reconfigured(void)
{
    if (at.glue && at.table != atoll_node_table_hash())
        filter_node_table();
    else if (at.glue)
        at.api->mark_all(at.glue);
    filter_changes_done();
}

void filter_nodes_changed(bitstr_t *nodes)
{
    if (at.glue && nodes)
        at.api->mark(at.glue, (const uint64_t *)(nodes + BITSTR_OVERHEAD), bit_size(nodes));
}

void filter_node_changed(uint32_t node)
{
    if (at.glue)
        at.api->mark_node(at.glue, node);
}

/* One call of job_test. */
struct call {
    job_record_t *job;
    bitstr_t *nodes; /* the caller's, changed by attempts */
    uint32_t min_nodes, max_nodes, req_nodes;
    uint16_t mode;
    bitstr_t *exc_cores;
    struct atoll_wish wish;
    uint32_t chosen; /* nodes in at.shares */
    uint32_t gpus_per_node;
    uint64_t inner_ns;
};

/* Asks the glue, and again when the nodes it chose turn out to have changed unseen. */
static bool choose(struct call *c)
{
    struct atoll_choice choice;
    uint32_t node;

    (void)look_at_dirty();
    for (int i = 0; i < AUDIT_NODES && at.api->next_audit(at.glue, &node); i++)
        (void)refresh(node);
    for (int tries = 0; tries < MOST_CHOICES; tries++) {
        int changed = 0;
        if (at.api->choose(at.glue, &c->wish, &choice) != ATOLL_CHOSEN || choice.nodes == 0 ||
            choice.nodes > at.node_count)
            return false;
        c->chosen = choice.nodes;
        c->gpus_per_node = choice.gpus_per_node;
        memcpy(at.shares, choice.shares, choice.nodes * sizeof(*at.shares));
        for (uint32_t i = 0; i < c->chosen && !c->wish.ignore_state; i++)
            changed |= refresh(at.shares[i].node);
        if (!changed)
            return true;
    }
    return false;
}

static bool takes_all_gpus(const struct atoll_share *s)
{
    return (uint32_t)__builtin_popcountll(s->gpus) == at.api->expected_gpus(at.glue, s->node);
}

/* Cores far from the chosen GPUs, or NULL when nothing is known, the near ones do not suffice, or it costs too much. */
static bitstr_t *exclude_far_cores(const struct call *c)
{
    uint32_t needed = c->wish.cpus_per_node;
    bool any = false, enough = true;

    if (!at.far_cores || !at.api->excludes_far_cores(at.glue) || (c->wish.flags & ATOLL_NODE_IDLE) ||
        cr_get_coremap_offset(at.shares[c->chosen - 1].node) - cr_get_coremap_offset(at.shares[0].node) >
            MOST_CORES_WALKED)
        return NULL;
    if (c->wish.cpus_per_gpu * c->gpus_per_node > needed)
        needed = c->wish.cpus_per_gpu * c->gpus_per_node;
    if (c->wish.cpus_total / c->chosen > needed)
        needed = c->wish.cpus_total / c->chosen;
    for (uint32_t i = 0; i < c->chosen && enough; i++) {
        const struct atoll_share *s = &at.shares[i];
        uint32_t near;
        if (takes_all_gpus(s)) /* no core is far from all of them */
            continue;
        near = atoll_far_cores(&at.state, at.gpu_id, s->node, s->gpus,
                               at.api->sockets(at.glue, s->node, s->gpus), at.far_cores);
        any |= near != UINT32_MAX;
        enough = near >= needed;
    }
    if (!any || !enough)
        return NULL;
    if (c->exc_cores && bit_size(c->exc_cores) == bit_size(at.far_cores))
        bit_or(at.far_cores, c->exc_cores);
    else if (c->exc_cores)
        return NULL;
    return at.far_cores;
}

static void clear_far_cores(const struct call *c)
{
    if (!at.far_cores)
        return;
    if (c->exc_cores) { /* its bits may lie anywhere */
        bit_clear_all(at.far_cores);
        return;
    }
    for (uint32_t i = 0; i < c->chosen; i++) {
        uint32_t first = cr_get_coremap_offset(at.shares[i].node);
        uint32_t count = node_record_table_ptr[at.shares[i].node]->tot_cores;
        if (count && first + count <= (uint32_t)bit_size(at.far_cores))
            bit_nclear(at.far_cores, first, first + count - 1);
    }
}

/* One call of the inner plugin on the chosen nodes. True when it says: yes, now. */
static bool attempt(struct call *c, int how, bitstr_t *exc_cores)
{
    const struct job_before before = note_job(c->job);
    uint64_t begin;
    int rc;

    bit_clear_all(c->nodes);
    for (uint32_t i = 0; i < c->chosen; i++)
        bit_set(c->nodes, at.shares[i].node);
    for (uint32_t i = 0; (how & MASK_GPUS) && i < c->chosen; i++)
        if (!takes_all_gpus(&at.shares[i]))
            atoll_mask_gpus(at.gpu_id, at.shares[i].node, at.shares[i].gpus, &at.undo);
    if (c->mode == SELECT_MODE_WILL_RUN)
        c->job->bit_flags |= TEST_NOW_ONLY;
    begin = now_ns();
    rc = at.inner(c->job, c->nodes, c->min_nodes, c->max_nodes, c->req_nodes, c->mode, NULL, NULL, exc_cores);
    c->inner_ns += now_ns() - begin;
    atoll_undo_all(&at.undo);
    if (rc == SLURM_SUCCESS) {
        for (uint32_t i = 0; (how & MASK_GPUS) && i < c->chosen; i++)
            if (bit_test(c->nodes, at.shares[i].node))
                atoll_pin_gpus(c->job, at.gpu_id, at.shares[i].node, at.shares[i].gpus);
        c->job->bit_flags = (c->job->bit_flags & ~TEST_NOW_ONLY) | (before.bit_flags & TEST_NOW_ONLY);
        return true;
    }
    restore_job(c->job, &before);
    return false;
}

/* Tries the choice, relaxing step by step. ATOLL_STEP_NODES: no attempt said yes, nothing is changed. */
static enum atoll_step narrow(struct call *c)
{
    bool masked = c->mode == SELECT_MODE_RUN_NOW && !(c->wish.flags & ATOLL_NODE_IDLE);
    bitstr_t *far = masked ? exclude_far_cores(c) : NULL;
    enum atoll_step step = ATOLL_STEP_NODES;

    if (attempt(c, masked ? MASK_GPUS : 0, far ? far : c->exc_cores))
        step = ATOLL_STEP_FULL;
    if (masked)
        clear_far_cores(c);
    if (step == ATOLL_STEP_NODES && far && attempt(c, MASK_GPUS, c->exc_cores))
        step = ATOLL_STEP_NEAR_CORES;
    if (step == ATOLL_STEP_NODES && masked && attempt(c, 0, c->exc_cores))
        step = ATOLL_STEP_GPU_MASK;
    if (step == ATOLL_STEP_NODES)
        bit_copybits(c->nodes, at.asked_nodes);
    return step;
}

static void report(const struct call *c, enum atoll_step step, const char *reason, bool yes, uint64_t begin)
{
    bool wanted = (slurm_conf.debug_flags & DEBUG_FLAG_SELECT_TYPE) || at.api->logs_decisions(at.glue);
    uint64_t total = now_ns() - begin;
    struct atoll_decision d = {.job_id = c->job->job_id, .step = step, .started = yes, .total_ns = total,
                               .own_ns = total - c->inner_ns, .reason = reason};
    char *names = wanted && yes ? bitmap2node_name(c->nodes) : NULL;

    d.nodes = names;
    at.api->decided(at.glue, &d, wanted);
    xfree(names);
}

/* Required nodes have to be in the choice: it is limited to them when they are all that is asked. */
static const char *limit_to_required(struct call *c)
{
    bitstr_t *required = c->job->details->req_node_bitmap;
    uint32_t count;

    if (!required || (count = bit_set_count(required)) == 0)
        return NULL;
    if (count < c->req_nodes || count < c->min_nodes)
        return "names some of its nodes";
    bit_and(at.asked_nodes, required);
    return NULL;
}

int filter_job_test(job_record_t *job, bitstr_t *nodes, uint32_t min_nodes, uint32_t max_nodes, uint32_t req_nodes,
                    uint16_t mode, List preemptee_candidates, List *preemptee_jobs, bitstr_t *exc_cores)
{
    struct call c = {.job = job, .nodes = nodes, .min_nodes = min_nodes, .max_nodes = max_nodes,
                     .req_nodes = req_nodes, .mode = mode, .exc_cores = exc_cores};
    enum atoll_step step = ATOLL_STEP_PASSED;
    const char *reason = "asked in an unknown mode";
    uint64_t begin, inner_begin;
    int rc;

    if (!at.glue || !at.api->active(at.glue) || bit_size(nodes) != at.node_count) {
        if (at.glue && mode == SELECT_MODE_RUN_NOW) /* chosen before a reconfigure switched Atoll off */
            atoll_unpin_gpus(job, at.gpu_id);
        return at.inner(job, nodes, min_nodes, max_nodes, req_nodes, mode, preemptee_candidates, preemptee_jobs,
                        exc_cores);
    }
    begin = now_ns();
    if (mode == SELECT_MODE_RUN_NOW)
        atoll_unpin_gpus(job, at.gpu_id);
    if (mode == SELECT_MODE_RUN_NOW || mode == SELECT_MODE_TEST_ONLY || mode == SELECT_MODE_WILL_RUN)
        reason = atoll_view_job(job, min_nodes, max_nodes, req_nodes, at.gpu_id, &c.wish);
    if (!reason && (c.wish.hint = atoll_job_hint(job)) && at.api->asks_off(at.glue, c.wish.hint, job->job_id))
        reason = "asks policy=off";
    if (!reason) {
        bit_copybits(at.asked_nodes, nodes);
        reason = limit_to_required(&c);
    }
    if (!reason) {
        c.wish.allowed = (const uint64_t *)(at.asked_nodes + BITSTR_OVERHEAD);
        c.wish.ignore_state = mode == SELECT_MODE_TEST_ONLY;
        step = ATOLL_STEP_NO_FIT;
        if (choose(&c)) {
            if (job->details->req_node_bitmap) /* an attempt must give back all that was asked */
                bit_copybits(at.asked_nodes, nodes);
            step = narrow(&c);
        }
    }
    if (step < ATOLL_STEP_NODES) {
        report(&c, step, NULL, true, begin);
        return SLURM_SUCCESS;
    }
    inner_begin = now_ns();
    rc = at.inner(job, nodes, min_nodes, max_nodes, req_nodes, mode, preemptee_candidates, preemptee_jobs, exc_cores);
    c.inner_ns += now_ns() - inner_begin;
    report(&c, step, reason, rc == SLURM_SUCCESS, begin);
    return rc;
}
