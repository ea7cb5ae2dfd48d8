/* SPDX-License-Identifier: GPL-2.0-or-later
 * Finds and opens the glue beside the select plugin. */
#include "plugin/slurm/shim.h"

#include <dlfcn.h>

#define GLUE_FILE "atoll_slurm_glue.so"

static const struct atoll_glue_api *fail(const char *path, const char *why)
{
    error("atoll: cannot use %s: %s; install it beside select_cons_tres_atoll.so from the same build and restart "
          "slurmctld; until then all calls are passed to select/cons_tres",
          path, why ? why : "reason unknown");
    return NULL;
}

const struct atoll_glue_api *atoll_open_glue(void)
{
    static const char here = 0;
    Dl_info self;
    char path[PATH_MAX + sizeof(GLUE_FILE)];
    char *slash;
    void *handle;
    const struct atoll_glue_api *(*entry)(void) = NULL;

    if (!dladdr(&here, &self) || !self.dli_fname || !realpath(self.dli_fname, path) || !(slash = strrchr(path, '/')))
        return fail(GLUE_FILE, "the folder of the select plugin cannot be told");
    memcpy(slash + 1, GLUE_FILE, sizeof(GLUE_FILE));
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(path, dlerror());
    *(void **)&entry = dlsym(handle, "atoll_glue_entry");
    if (!entry || !entry() || entry()->abi != ATOLL_GLUE_ABI)
        return fail(path, "it is of another version");
    return entry(); /* stays open: its code is needed until slurmctld ends */
}
