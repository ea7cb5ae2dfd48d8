/* SPDX-License-Identifier: GPL-2.0-or-later
 * A node record as a state; masking GPUs and excluding cores for one call. */
#include "plugin/slurm/shim.h"

#include "src/plugins/select/cons_common/node_data.h"
#include "src/plugins/select/cons_common/part_data.h"

#define CORE_WORDS 16 /* 1,024 cores a node; larger nodes count as unknown */

static uint64_t *words_of(bitstr_t *bits)
{
    return (uint64_t *)(bits + BITSTR_OVERHEAD);
}

static node_record_t *node_at(uint32_t node)
{
    return (int)node < node_record_count ? node_record_table_ptr[node] : NULL;
}

static gres_node_state_t *gpus_of(const node_record_t *node, uint32_t gpu_id)
{
    gres_state_t *row = node->gres_list ? list_find_first(node->gres_list, gres_find_id, &gpu_id) : NULL;

    return row ? row->gres_data : NULL;
}

uint64_t atoll_node_table_hash(void)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (int i = 0; i < node_record_count; i++) {
        const node_record_t *node = node_record_table_ptr[i];
        for (const char *c = node ? node->name : NULL; c && *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211u;
        hash = (hash ^ '/') * 1099511628211u;
        if (node)
            hash = (hash ^ ((uint64_t)node->tot_sockets << 32 | node->tot_cores)) * 1099511628211u;
    }
    return hash;
}

/* Cores in use by any job, as the inner plugin books them. False when that is unknown. */
static bool busy_cores(const struct atoll_inner_state *inner, uint32_t node, uint32_t cores, uint64_t *busy)
{
    memset(busy, 0, CORE_WORDS * sizeof(*busy));
    if (!inner->part_record || cores > CORE_WORDS * 64)
        return false;
    for (part_res_record_t *part = *inner->part_record; part; part = part->next) {
        for (int r = 0; part->row && r < part->num_rows; r++) {
            bitstr_t *used = part->row[r].row_bitmap ? part->row[r].row_bitmap[node] : NULL;
            if (!used || bit_size(used) < cores)
                continue;
            for (uint32_t w = 0; w * 64 < cores; w++)
                busy[w] |= words_of(used)[w];
        }
    }
    return true;
}

/* Bits first … end - 1 that are not set. */
static uint32_t count_clear(const uint64_t *words, uint32_t first, uint32_t end)
{
    uint32_t count = 0;

    while (first < end) {
        uint32_t bits = MIN(64 - first % 64, end - first);
        uint64_t valid = bits == 64 ? ~(uint64_t)0 : (((uint64_t)1 << bits) - 1) << first % 64;
        count += __builtin_popcountll(~words[first / 64] & valid);
        first += bits;
    }
    return count;
}

static uint32_t count_cores(const uint64_t *words, uint32_t cores)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w * 64 < cores; w++) {
        uint64_t valid = cores - w * 64 >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << (cores - w * 64)) - 1;
        count += __builtin_popcountll(words[w] & valid);
    }
    return count;
}

static void view_gpus(const gres_node_state_t *gpus, uint32_t expected, struct atoll_node_state *out)
{
    uint64_t all = expected >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << expected) - 1;

    out->gpus = gpus->gres_cnt_avail > UINT32_MAX ? UINT32_MAX : gpus->gres_cnt_avail;
    if (gpus->no_consume || expected == 0 || expected > 64)
        return;
    if (gpus->gres_bit_alloc) {
        if (bit_size(gpus->gres_bit_alloc) != expected) {
            out->gpus = bit_size(gpus->gres_bit_alloc);
            return;
        }
        out->free_gpus = ~words_of(gpus->gres_bit_alloc)[0] & all;
    } else {
        /* Only counted (no File= in gres.conf): which GPUs a job gets is not known to anyone. */
        uint64_t left = gpus->gres_cnt_avail > gpus->gres_cnt_alloc ? gpus->gres_cnt_avail - gpus->gres_cnt_alloc : 0;
        out->free_gpus = left >= expected ? all : ((uint64_t)1 << left) - 1;
    }
    if (gpus->alt_gres_ns && gpus->alt_gres_ns->gres_bit_alloc &&
        bit_size(gpus->alt_gres_ns->gres_bit_alloc) == expected)
        out->free_gpus &= ~words_of(gpus->alt_gres_ns->gres_bit_alloc)[0]; /* in use as shards or mps */
    if (gpus->type_cnt == 1)
        out->type = gpus->type_id[0];
    else if (gpus->type_cnt > 1)
        out->type = ATOLL_MIXED_TYPES;
}

static void view_rest(const struct atoll_inner_state *inner, const node_record_t *node, uint32_t index,
                      struct atoll_node_state *out)
{
    node_use_record_t *usage = inner->node_usage ? *inner->node_usage : NULL;
    uint64_t busy[CORE_WORDS];
    uint32_t cores = node->cores ? MIN(node->tot_cores, CORE_WORDS * 64) : 0;
    uint32_t used = 0, cpus = node->cpus_efctv ? node->cpus_efctv : node->cpus;
    uint64_t memory = node->real_memory > node->mem_spec_limit ? node->real_memory - node->mem_spec_limit : 0;

    if (busy_cores(inner, index, node->tot_cores, busy))
        used = count_cores(busy, node->tot_cores);
    for (uint32_t s = 0; s < ATOLL_MOST_SOCKETS && s * node->cores < cores; s++)
        out->socket_cpus[s] = count_clear(busy, s * node->cores, MIN((s + 1) * node->cores, cores)) * node->tpc;
    out->free_cpus = cpus > used * node->tpc ? cpus - used * node->tpc : 0;
    out->free_memory = memory;
    out->flags = ATOLL_NODE_OPEN;
    if (used == 0)
        out->flags |= ATOLL_NODE_IDLE;
    if (usage) {
        out->free_memory = memory > usage[index].alloc_memory ? memory - usage[index].alloc_memory : 0;
        if (usage[index].alloc_memory == 0)
            out->flags |= ATOLL_NODE_MEMORY_UNTOUCHED;
        if (usage[index].node_state >= NODE_CR_RESERVED)
            out->flags &= ~ATOLL_NODE_OPEN; /* held by one job alone */
    } else {
        out->flags |= ATOLL_NODE_MEMORY_UNTOUCHED;
    }
    out->weight = node->config_ptr ? node->config_ptr->weight & 0x7fffffff : 1;
    if (out->weight == 0)
        out->weight = 1;
    if (IS_NODE_POWERED_DOWN(node))
        out->weight |= 0x80000000; /* has to boot first: last, as Slurm sees it too */
}

void atoll_view_node(const struct atoll_inner_state *inner, uint32_t gpu_id, uint32_t index, uint32_t expected,
                     struct atoll_node_state *out)
{
    node_record_t *node = node_at(index);
    gres_node_state_t *gpus = node ? gpus_of(node, gpu_id) : NULL;

    memset(out, 0, sizeof(*out));
    if (!gpus)
        return;
    view_gpus(gpus, expected, out);
    view_rest(inner, node, index, out);
    if (gpus->gres_cnt_alloc)
        out->flags &= ~ATOLL_NODE_IDLE;
}

static void set_word(struct atoll_undo_log *undo, uint64_t *where, uint64_t value)
{
    undo->entries[undo->used++] = (struct atoll_undo){where, *where};
    *where = value;
}

static void mask_rows(gres_node_state_t *gpus, uint64_t hide, struct atoll_undo_log *undo)
{
    for (int t = 0; t < gpus->topo_cnt; t++) {
        uint64_t hidden = words_of(gpus->topo_gres_bitmap[t])[0] & hide;
        uint64_t count = __builtin_popcountll(hidden);

        if (!count)
            continue;
        set_word(undo, &gpus->topo_gres_cnt_alloc[t], gpus->topo_gres_cnt_alloc[t] + count);
        for (int k = 0; k < gpus->type_cnt; k++) {
            if (!gpus->topo_type_name || !gpus->topo_type_name[t] || gpus->topo_type_id[t] != gpus->type_id[k])
                continue;
            set_word(undo, &gpus->type_cnt_alloc[k], gpus->type_cnt_alloc[k] + count);
            break;
        }
    }
}

/* Every row a set of whole GPUs, each GPU in one row: what File= lines of gres.conf give. */
static bool rows_are_plain(const gres_node_state_t *gpus, uint32_t size)
{
    uint64_t seen = 0;

    if (!gpus->topo_cnt || !gpus->topo_gres_bitmap || !gpus->topo_gres_cnt_alloc || !gpus->topo_gres_cnt_avail)
        return false;
    for (int t = 0; t < gpus->topo_cnt; t++) {
        uint64_t row;
        if (!gpus->topo_gres_bitmap[t] || bit_size(gpus->topo_gres_bitmap[t]) != size)
            return false;
        row = words_of(gpus->topo_gres_bitmap[t])[0];
        if ((row & seen) || gpus->topo_gres_cnt_avail[t] != (uint64_t)__builtin_popcountll(row))
            return false;
        seen |= row;
    }
    return true;
}

void atoll_mask_gpus(uint32_t gpu_id, uint32_t index, uint64_t wanted, struct atoll_undo_log *undo)
{
    node_record_t *node = node_at(index);
    gres_node_state_t *gpus = node ? gpus_of(node, gpu_id) : NULL;
    uint64_t *alloc, hide;
    uint32_t size;

    if (!gpus || !gpus->gres_bit_alloc || gpus->no_consume)
        return;
    size = bit_size(gpus->gres_bit_alloc);
    if (size > 64 || !rows_are_plain(gpus, size))
        return;
    alloc = words_of(gpus->gres_bit_alloc);
    hide = ~alloc[0] & ~wanted & (size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1);
    if (!hide || undo->used + 2 + 2 * (uint32_t)gpus->topo_cnt > undo->room)
        return;
    set_word(undo, &alloc[0], alloc[0] | hide);
    set_word(undo, &gpus->gres_cnt_alloc, gpus->gres_cnt_alloc + __builtin_popcountll(hide));
    mask_rows(gpus, hide, undo);
}

bool atoll_gpus_are_unplaced(uint32_t gpu_id, uint32_t index)
{
    node_record_t *node = node_at(index);
    gres_node_state_t *gpus = node ? gpus_of(node, gpu_id) : NULL;

    return gpus && !gpus->topo_cnt && gpus->gres_bit_alloc && bit_size(gpus->gres_bit_alloc) <= 64;
}

uint32_t atoll_gpu_bits(uint32_t gpu_id, uint32_t index)
{
    return bit_size(gpus_of(node_at(index), gpu_id)->gres_bit_alloc);
}

void atoll_undo_all(struct atoll_undo_log *undo)
{
    while (undo->used) {
        const struct atoll_undo *last = &undo->entries[--undo->used];
        *last->where = last->old;
    }
}

/* Near cores of the GPUs by Cores= of gres.conf, else by socket. False when neither is known. */
static bool near_cores(const node_record_t *node, const gres_node_state_t *gpus, uint64_t wanted, uint64_t sockets,
                       uint64_t *near)
{
    uint64_t covered = 0;

    memset(near, 0, CORE_WORDS * sizeof(*near));
    for (int t = 0; gpus->topo_core_bitmap && gpus->topo_gres_bitmap && t < gpus->topo_cnt; t++) {
        bitstr_t *cores = gpus->topo_core_bitmap[t], *row = gpus->topo_gres_bitmap[t];
        if (!row || !(words_of(row)[0] & wanted) || !cores || bit_size(cores) != node->tot_cores)
            continue;
        covered |= words_of(row)[0];
        for (uint32_t w = 0; w * 64 < node->tot_cores; w++)
            near[w] |= words_of(cores)[w];
    }
    if ((covered & wanted) == wanted)
        return true;
    memset(near, 0, CORE_WORDS * sizeof(*near));
    for (uint32_t c = 0; sockets && c < node->tot_cores; c++)
        if (sockets >> (c / node->cores) & 1)
            near[c / 64] |= (uint64_t)1 << (c % 64);
    return sockets != 0;
}

uint32_t atoll_far_cores(const struct atoll_inner_state *inner, uint32_t gpu_id, uint32_t index, uint64_t wanted,
                         uint64_t sockets, bitstr_t *far)
{
    node_record_t *node = node_at(index);
    gres_node_state_t *gpus = node ? gpus_of(node, gpu_id) : NULL;
    uint64_t near[CORE_WORDS], busy[CORE_WORDS], free_near[CORE_WORDS];
    uint32_t offset;

    if (!gpus || !node->cores || node->tot_cores > CORE_WORDS * 64 || node->tot_sockets > 64 ||
        !near_cores(node, gpus, wanted, sockets, near) || count_cores(near, node->tot_cores) == node->tot_cores ||
        !busy_cores(inner, index, node->tot_cores, busy))
        return UINT32_MAX;
    for (int w = 0; w < CORE_WORDS; w++)
        free_near[w] = near[w] & ~busy[w];
    offset = cr_get_coremap_offset(index);
    if (offset + node->tot_cores > (uint32_t)bit_size(far)) /* the node changed since the table was built */
        return UINT32_MAX;
    for (uint32_t c = 0; c < node->tot_cores; c++)
        if (!(near[c / 64] >> (c % 64) & 1))
            bit_set(far, offset + c);
    return count_cores(free_near, node->tot_cores) * node->tpc;
}
