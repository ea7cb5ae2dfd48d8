/* SPDX-License-Identifier: GPL-2.0-or-later
 * atoll_slurm_client.so: asks slurmctld for the nodes and GPUs of a job, for `atoll ranks --job`.
 *
 * Only slurm/slurm.h is needed to build it; libslurm is opened when it is asked. The layout of Slurm's answer
 * belongs to one release, so a libslurm of another release is refused.
 */
#include <dlfcn.h>
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdarg.h>
#include <stdio.h>

#define STRING_OF(x) #x
#define TEXT(x) STRING_OF(x)

typedef void (*give_fn)(void *context, const char *nodes, const char *const *gres, uint32_t count);

static int fail(char *why, size_t size, const char *format, ...)
{
    va_list more;

    va_start(more, format);
    if (why && size)
        (void)vsnprintf(why, size, format, more);
    va_end(more);
    return -1;
}

/* Debian and RPM packages put the commands' own library beside the plugins; libslurm is the public one. */
static void *open_libslurm(void)
{
    static const char *const names[] = {
        "libslurm.so." TEXT(ATOLL_SLURM_API),
        "/usr/lib/" ATOLL_MULTIARCH "/slurm-wlm/libslurmfull.so",
        "/usr/lib64/slurm/libslurmfull.so",
        "/usr/lib/slurm/libslurmfull.so",
        "/usr/local/lib/slurm/libslurmfull.so",
    };
    void *found = NULL;

    /* Global: Slurm's plugins (auth/munge, …) look for its symbols. */
    for (size_t i = 0; !found && i < sizeof(names) / sizeof(*names); i++)
        found = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);
    return found;
}

/* 0, after one call of `give`; else -1 and the reason in `why`. */
__attribute__((visibility("default"))) int atoll_slurm_load_job(uint32_t id, give_fn give, void *context, char *why,
                                                                 size_t size);
int atoll_slurm_load_job(uint32_t id, give_fn give, void *context, char *why, size_t size)
{
    void *library = open_libslurm();
    void (*init)(const char *) = NULL;
    long (*version)(void) = NULL;
    int (*load)(job_info_msg_t **, uint32_t, uint16_t) = NULL;
    void (*release)(job_info_msg_t *) = NULL;
    char *(*text)(int) = NULL;
    job_info_msg_t *message = NULL;
    const slurm_job_info_t *job = NULL;

    if (!library)
        return fail(why, size, "neither libslurm.so." TEXT(ATOLL_SLURM_API) " nor libslurmfull.so is where it is looked for: %s", dlerror());
    *(void **)&init = dlsym(library, "slurm_init");
    *(void **)&version = dlsym(library, "slurm_api_version");
    *(void **)&load = dlsym(library, "slurm_load_job");
    *(void **)&release = dlsym(library, "slurm_free_job_info_msg");
    *(void **)&text = dlsym(library, "slurm_strerror");
    if (!init || !version || !load || !release || !text)
        return fail(why, size, "libslurm lacks a function that is needed");
    if (version() >> 16 != ATOLL_SLURM_API)
        return fail(why, size, "libslurm is of another release than the one that Atoll was built for");
    init(NULL);
    if (load(&message, id, SHOW_DETAIL) || !message)
        return fail(why, size, "Slurm says: %s", text(errno));
    for (uint32_t i = 0; i < message->record_count; i++)
        if (message->job_array[i].job_id == id)
            job = &message->job_array[i];
    if (job)
        give(context, job->nodes, (const char *const *)job->gres_detail_str, job->gres_detail_cnt);
    release(message);
    return job ? 0 : fail(why, size, "Slurm does not know it");
}
