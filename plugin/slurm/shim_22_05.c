/* SPDX-License-Identifier: GPL-2.0-or-later
 * Slurm 22.05: the 37 symbols of a select plugin, each handed to the inner plugin. Only job_test goes
 * through the filter; the hooks that change allocations tell it which nodes changed.
 *
 * Clients (squeue, srun, …) load every select plugin they find; there the calls are handed on and nothing else
 * is done: no file is read, nothing is logged.
 */
#include "plugin/slurm/filter.h"

const char plugin_name[] = ATOLL_PLUGIN_NAME;
const char plugin_type[] = ATOLL_PLUGIN_TYPE;
const uint32_t plugin_id = ATOLL_PLUGIN_ID;
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* In the order of slurm_select_ops_t of src/common/select.h. */
static const char *symbols[] = {
    "plugin_id",
    "select_p_state_save",
    "select_p_state_restore",
    "select_p_job_init",
    "select_p_node_init",
    "select_p_job_test",
    "select_p_job_begin",
    "select_p_job_ready",
    "select_p_job_expand",
    "select_p_job_resized",
    "select_p_job_signal",
    "select_p_job_fini",
    "select_p_job_suspend",
    "select_p_job_resume",
    "select_p_step_pick_nodes",
    "select_p_step_start",
    "select_p_step_finish",
    "select_p_select_nodeinfo_pack",
    "select_p_select_nodeinfo_unpack",
    "select_p_select_nodeinfo_alloc",
    "select_p_select_nodeinfo_free",
    "select_p_select_nodeinfo_set_all",
    "select_p_select_nodeinfo_set",
    "select_p_select_nodeinfo_get",
    "select_p_select_jobinfo_alloc",
    "select_p_select_jobinfo_free",
    "select_p_select_jobinfo_set",
    "select_p_select_jobinfo_get",
    "select_p_select_jobinfo_copy",
    "select_p_select_jobinfo_pack",
    "select_p_select_jobinfo_unpack",
    "select_p_select_jobinfo_sprint",
    "select_p_select_jobinfo_xstrdup",
    "select_p_get_info_from_plugin",
    "select_p_update_node_config",
    "select_p_reconfigure",
    "select_p_resv_test",
};
_Static_assert(sizeof(symbols) == sizeof(slurm_select_ops_t), "symbols must match slurm_select_ops_t");

static slurm_select_ops_t inner;
static plugin_context_t *context;

static const slurm_select_ops_t *ops(void)
{
    return &inner;
}

/* Also run in every client and, in slurmctld, when another select plugin is in use: real work starts in
 * node_init. When this fails, Slurm goes on as if the plugin were not there. */
extern int init(void)
{
    if (!context)
        context = plugin_context_create("select", filter_inner_type(), (void **)&inner, symbols, sizeof(symbols));
    if (!context) {
        error("%s: cannot load %s, which it wraps; PluginDir must name the folder of Slurm's own plugins too",
              plugin_type, filter_inner_type());
        return SLURM_ERROR;
    }
    return SLURM_SUCCESS;
}

extern int fini(void)
{
    filter_stop();
    if (context)
        plugin_context_destroy(context);
    context = NULL;
    return SLURM_SUCCESS;
}

extern int select_p_state_save(char *dir_name) { return (*ops()->state_save)(dir_name); }
extern int select_p_state_restore(char *dir_name) { return (*ops()->state_restore)(dir_name); }
extern int select_p_job_init(List jobs) { return (*ops()->job_init)(jobs); }

extern int select_p_node_init(void)
{
    int rc = (*ops()->node_init)();
    if (rc == SLURM_SUCCESS) {
        filter_start(context->cur_plugin, inner.job_test);
        filter_node_table();
    }
    return rc;
}

extern int select_p_job_test(job_record_t *job_ptr, bitstr_t *node_bitmap, uint32_t min_nodes, uint32_t max_nodes,
                             uint32_t req_nodes, uint16_t mode, List preemptee_candidates, List *preemptee_job_list,
                             bitstr_t *exc_core_bitmap)
{
    return filter_job_test(job_ptr, node_bitmap, min_nodes, max_nodes, req_nodes, mode, preemptee_candidates,
                           preemptee_job_list, exc_core_bitmap);
}

/* Calls an inner function that changes what a job holds, then tells which nodes to look at again. The
 * inner function may take nodes off the job, so its bitmap is noted before and after. */
#define CHANGE(job_ptr, call)                            \
    do {                                                 \
        int change_rc;                                   \
        filter_nodes_changed((job_ptr)->node_bitmap);    \
        change_rc = (call);                              \
        filter_nodes_changed((job_ptr)->node_bitmap);    \
        filter_changes_done();                           \
        return change_rc;                                \
    } while (0)

extern int select_p_job_begin(job_record_t *job_ptr) { CHANGE(job_ptr, (*ops()->job_begin)(job_ptr)); }
extern int select_p_job_ready(job_record_t *job_ptr) { return (*ops()->job_ready)(job_ptr); }

extern int select_p_job_expand(job_record_t *from_job_ptr, job_record_t *to_job_ptr)
{
    filter_nodes_changed(from_job_ptr->node_bitmap);
    CHANGE(to_job_ptr, (*ops()->job_expand)(from_job_ptr, to_job_ptr));
}

extern int select_p_job_resized(job_record_t *job_ptr, node_record_t *node_ptr)
{
    filter_node_changed(node_ptr->index);
    CHANGE(job_ptr, (*ops()->job_resized)(job_ptr, node_ptr));
}

extern int select_p_job_signal(job_record_t *job_ptr, int signal) { return (*ops()->job_signal)(job_ptr, signal); }
extern int select_p_job_fini(job_record_t *job_ptr) { CHANGE(job_ptr, (*ops()->job_fini)(job_ptr)); }

extern int select_p_job_suspend(job_record_t *job_ptr, bool indf_susp)
{
    CHANGE(job_ptr, (*ops()->job_suspend)(job_ptr, indf_susp));
}

extern int select_p_job_resume(job_record_t *job_ptr, bool indf_susp)
{
    CHANGE(job_ptr, (*ops()->job_resume)(job_ptr, indf_susp));
}

extern bitstr_t *select_p_step_pick_nodes(job_record_t *job_ptr, select_jobinfo_t *jobinfo, uint32_t node_count,
                                          bitstr_t **avail_nodes)
{
    return (*ops()->step_pick_nodes)(job_ptr, jobinfo, node_count, avail_nodes);
}

extern int select_p_step_start(step_record_t *step_ptr) { return (*ops()->step_start)(step_ptr); }

extern int select_p_step_finish(step_record_t *step_ptr, bool killing_step)
{
    return (*ops()->step_finish)(step_ptr, killing_step);
}

extern int select_p_select_nodeinfo_pack(select_nodeinfo_t *nodeinfo, buf_t *buffer, uint16_t protocol_version)
{
    return (*ops()->nodeinfo_pack)(nodeinfo, buffer, protocol_version);
}

extern int select_p_select_nodeinfo_unpack(select_nodeinfo_t **nodeinfo, buf_t *buffer, uint16_t protocol_version)
{
    return (*ops()->nodeinfo_unpack)(nodeinfo, buffer, protocol_version);
}

extern select_nodeinfo_t *select_p_select_nodeinfo_alloc(void) { return (*ops()->nodeinfo_alloc)(); }

extern int select_p_select_nodeinfo_free(select_nodeinfo_t *nodeinfo) { return (*ops()->nodeinfo_free)(nodeinfo); }
extern int select_p_select_nodeinfo_set_all(void) { return (*ops()->nodeinfo_set_all)(); }

/* Where cons_tres books what a job was given: at start, and for each running job after a restart. */
extern int select_p_select_nodeinfo_set(job_record_t *job_ptr) { CHANGE(job_ptr, (*ops()->nodeinfo_set)(job_ptr)); }

extern int select_p_select_nodeinfo_get(select_nodeinfo_t *nodeinfo, enum select_nodedata_type dinfo,
                                        enum node_states state, void *data)
{
    return (*ops()->nodeinfo_get)(nodeinfo, dinfo, state, data);
}

extern select_jobinfo_t *select_p_select_jobinfo_alloc(void) { return (*ops()->jobinfo_alloc)(); }
extern int select_p_select_jobinfo_free(select_jobinfo_t *jobinfo) { return (*ops()->jobinfo_free)(jobinfo); }

extern int select_p_select_jobinfo_set(select_jobinfo_t *jobinfo, enum select_jobdata_type data_type, void *data)
{
    return (*ops()->jobinfo_set)(jobinfo, data_type, data);
}

extern int select_p_select_jobinfo_get(select_jobinfo_t *jobinfo, enum select_jobdata_type data_type, void *data)
{
    return (*ops()->jobinfo_get)(jobinfo, data_type, data);
}

extern select_jobinfo_t *select_p_select_jobinfo_copy(select_jobinfo_t *jobinfo)
{
    return (*ops()->jobinfo_copy)(jobinfo);
}

extern int select_p_select_jobinfo_pack(select_jobinfo_t *jobinfo, buf_t *buffer, uint16_t protocol_version)
{
    return (*ops()->jobinfo_pack)(jobinfo, buffer, protocol_version);
}

extern int select_p_select_jobinfo_unpack(select_jobinfo_t **jobinfo, buf_t *buffer, uint16_t protocol_version)
{
    return (*ops()->jobinfo_unpack)(jobinfo, buffer, protocol_version);
}

extern char *select_p_select_jobinfo_sprint(select_jobinfo_t *jobinfo, char *buf, size_t size, int mode)
{
    return (*ops()->jobinfo_sprint)(jobinfo, buf, size, mode);
}

extern char *select_p_select_jobinfo_xstrdup(select_jobinfo_t *jobinfo, int mode)
{
    return (*ops()->jobinfo_xstrdup)(jobinfo, mode);
}

extern int select_p_get_info_from_plugin(enum select_plugindata_info info, job_record_t *job_ptr, void *data)
{
    return (*ops()->get_info_from_plugin)(info, job_ptr, data);
}

extern int select_p_update_node_config(int index)
{
    int rc = (*ops()->update_node_config)(index);
    if (index >= 0)
        filter_node_changed((uint32_t)index);
    filter_changes_done();
    return rc;
}

extern int select_p_reconfigure(void)
{
    int rc = (*ops()->reconfigure)();
    filter_reconfigured();
    return rc;
}

extern bitstr_t *select_p_resv_test(resv_desc_msg_t *resv_desc_ptr, uint32_t node_cnt, bitstr_t *avail_bitmap,
                                    bitstr_t **core_bitmap)
{
    return (*ops()->resv_test)(resv_desc_ptr, node_cnt, avail_bitmap, core_bitmap);
}
