/* SPDX-License-Identifier: GPL-2.0-or-later
 * A job record as a wish. What is not understood is left to Slurm, with a reason. */
#include "plugin/slurm/shim.h"

static uint32_t valid32(uint32_t v)
{
    return v == NO_VAL || v == INFINITE ? 0 : v;
}

static uint32_t valid16(uint16_t v)
{
    return v == NO_VAL16 || v == INFINITE16 ? 0 : v;
}

static uint64_t valid64(uint64_t v)
{
    return v == NO_VAL64 || v == INFINITE64 ? 0 : v;
}

struct row_search {
    uint32_t gpu_id;
    gres_state_t *found;
    const char *why;
};

static int look_at_row(void *x, void *key)
{
    gres_state_t *row = x;
    struct row_search *search = key;

    if (row->plugin_id == search->gpu_id) {
        if (search->found)
            search->why = "asks GPUs of several types";
        search->found = row;
    } else if (gres_id_shared(row->config_flags)) {
        search->why = "asks shares of GPUs (shard or mps)";
    }
    return 0;
}

/* The one GPU row of the job's request, or NULL with the reason. */
static gres_state_t *gpu_row(job_record_t *job, uint32_t gpu_id, const char **why)
{
    struct row_search search = {.gpu_id = gpu_id};

    if (job->gres_list_req)
        (void)list_for_each(job->gres_list_req, look_at_row, &search);
    *why = search.why ? search.why : "asks no GPU";
    return search.why ? NULL : search.found;
}

static const char *refuse(const job_record_t *job)
{
    const struct job_details *d = job->details;

    if (d->min_nodes == 0 && d->max_nodes == 0)
        return "asks no node";
    if (d->contiguous)
        return "asks contiguous nodes";
    if (job->req_switch)
        return "asks a count of switches";
    if (job->bit_flags & SPREAD_JOB)
        return "asks to be spread";
    if (d->core_spec != NO_VAL16 && (slurm_conf.conf_flags & CTL_CONF_ASRU))
        return "asks specialised cores";
    if ((slurm_conf.select_type_param & CR_LLN) || (job->part_ptr->flags & PART_FLAG_LLN))
        return "least loaded nodes are configured";
    return NULL;
}

static void view_cpus(const job_record_t *job, struct atoll_wish *w)
{
    const struct job_details *d = job->details;
    uint32_t per_task = valid16(d->cpus_per_task);

    if (!per_task)
        per_task = 1;
    w->tasks = valid32(d->num_tasks);
    w->tasks_per_node = valid16(d->ntasks_per_node);
    w->cpus_per_node = valid32(d->pn_min_cpus);
    if (d->overcommit)
        return;
    w->cpus_total = valid32(d->min_cpus);
    if (w->tasks_per_node && w->tasks_per_node * per_task > w->cpus_per_node)
        w->cpus_per_node = w->tasks_per_node * per_task;
    if (per_task > w->cpus_per_node)
        w->cpus_per_node = per_task;
}

static void view_memory(const job_record_t *job, const gres_job_state_t *gpus, struct atoll_wish *w)
{
    const struct job_details *d = job->details;
    uint64_t per_gpu = valid64(gpus->mem_per_gres);

    if (!(slurm_conf.select_type_param & CR_MEMORY))
        return;
    if (!(job->bit_flags & JOB_MEM_SET) && !per_gpu)
        per_gpu = valid64(gpus->def_mem_per_gres);
    if (per_gpu && !(job->bit_flags & JOB_MEM_SET))
        w->memory_per_gpu = per_gpu;
    else if (d->pn_min_memory & MEM_PER_CPU)
        w->memory_per_node = (d->pn_min_memory & ~MEM_PER_CPU) * (w->cpus_per_node ? w->cpus_per_node : 1);
    else if (d->pn_min_memory)
        w->memory_per_node = d->pn_min_memory;
    else
        w->flags |= ATOLL_NODE_MEMORY_UNTOUCHED; /* 0 asks all memory of each node */
}

const char *atoll_view_job(job_record_t *job, uint32_t min_nodes, uint32_t max_nodes, uint32_t req_nodes,
                           uint32_t gpu_id, struct atoll_wish *w)
{
    const char *why;
    gres_state_t *row;
    const gres_job_state_t *gpus;

    if (!job->details || !job->part_ptr)
        return "has no details";
    if (!(row = gpu_row(job, gpu_id, &why)))
        return why;
    if ((why = refuse(job)))
        return why;
    gpus = row->gres_data;
    if (valid64(gpus->gres_per_socket))
        return "asks GPUs per socket";
    memset(w, 0, sizeof(*w));
    if (valid64(gpus->gres_per_node))
        w->gpus_per_node = gpus->gres_per_node;
    else if (valid64(gpus->gres_per_task))
        w->gpus_per_task = gpus->gres_per_task;
    else if (valid64(gpus->gres_per_job))
        w->gpus_total = gpus->gres_per_job;
    else
        return "asks no GPU";
    w->min_nodes = min_nodes;
    w->max_nodes = max_nodes;
    w->req_nodes = req_nodes;
    if ((job->bit_flags & USE_MIN_NODES) && min_nodes)
        w->req_nodes = min_nodes;
    w->job_id = job->job_id;
    w->type = gpus->type_name && gpus->type_name[0] ? gpus->type_id : ATOLL_ANY_TYPE;
    w->flags = ATOLL_NODE_OPEN;
    if (job->details->whole_node == WHOLE_NODE_REQUIRED || job->part_ptr->max_share == 0)
        w->flags |= ATOLL_NODE_IDLE;
    view_cpus(job, w);
    view_memory(job, gpus, w);
    w->cpus_per_gpu = gpus->cpus_per_gres ? gpus->cpus_per_gres : gpus->def_cpus_per_gres;
    return NULL;
}

/* Slurm puts SPANK_ before the names for prologs, and may here. */
const char *atoll_job_hint(const job_record_t *job)
{
    for (uint32_t i = 0; job->spank_job_env && i < job->spank_job_env_size; i++) {
        const char *entry = job->spank_job_env[i];
        if (entry && !strncmp(entry, "SPANK_", 6))
            entry += 6;
        if (entry && !strncmp(entry, "ATOLL=", 6))
            return entry + 6;
    }
    return NULL;
}

void atoll_unpin_gpus(job_record_t *job, uint32_t gpu_id)
{
    const char *why;
    gres_state_t *row = gpu_row(job, gpu_id, &why);
    gres_job_state_t *gpus = row ? row->gres_data : NULL;

    for (uint32_t i = 0; gpus && gpus->gres_bit_select && i < gpus->total_node_cnt; i++)
        FREE_NULL_BITMAP(gpus->gres_bit_select[i]);
}

void atoll_pin_gpus(job_record_t *job, uint32_t gpu_id, uint32_t node, uint64_t wanted)
{
    const char *why;
    gres_state_t *row = gpu_row(job, gpu_id, &why);
    gres_job_state_t *gpus = row ? row->gres_data : NULL;

    if (!gpus || node >= gpus->total_node_cnt || !gpus->gres_cnt_node_select ||
        gpus->gres_cnt_node_select[node] != (uint64_t)__builtin_popcountll(wanted) ||
        !atoll_gpus_are_unplaced(gpu_id, node))
        return;
    if (!gpus->gres_bit_select)
        gpus->gres_bit_select = xcalloc(gpus->total_node_cnt, sizeof(bitstr_t *));
    FREE_NULL_BITMAP(gpus->gres_bit_select[node]);
    gpus->gres_bit_select[node] = bit_alloc(atoll_gpu_bits(gpu_id, node));
    gpus->gres_bit_select[node][BITSTR_OVERHEAD] = (bitstr_t)wanted;
}
