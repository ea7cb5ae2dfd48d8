/* SPDX-License-Identifier: GPL-2.0-or-later
 * The benchmark's select plugin: wraps the plugin named by ATOLL_TIMED_INNER (default select/cons_tres) and
 * appends one line a job_test to ATOLL_TIMED_FILE: "mode min_nodes rc nanoseconds cpu_nanoseconds". Stock and
 * Atoll are timed by the same code at the same place. The CPU time is the calling thread's: unlike the first
 * figure it does not contain the time slices of other programs.
 */
#include "plugin/slurm/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static filter_job_test_fn inner;
static FILE *out;

const char *filter_inner_type(void)
{
    const char *named = getenv("ATOLL_TIMED_INNER");

    return named && *named ? named : "select/cons_tres";
}

void filter_start(void *handle, filter_job_test_fn job_test)
{
    const char *path = getenv("ATOLL_TIMED_FILE");

    (void)handle;
    inner = job_test;
    if (!out && path && !(out = fopen(path, "a")))
        error("cannot write %s", path);
}

void filter_stop(void)
{
    if (out)
        fclose(out);
    out = NULL;
}

void filter_node_table(void)
{
}

void filter_reconfigured(void)
{
}

void filter_nodes_changed(bitstr_t *nodes)
{
    (void)nodes;
}

void filter_node_changed(uint32_t node)
{
    (void)node;
}

void filter_changes_done(void)
{
}

static long long between(const struct timespec *from, const struct timespec *to)
{
    return (long long)(to->tv_sec - from->tv_sec) * 1000000000 + (to->tv_nsec - from->tv_nsec);
}

int filter_job_test(job_record_t *job, bitstr_t *nodes, uint32_t min_nodes, uint32_t max_nodes, uint32_t req_nodes,
                    uint16_t mode, List preemptee_candidates, List *preemptee_jobs, bitstr_t *exc_cores)
{
    struct timespec begin, end, cpu_begin, cpu_end;
    int rc;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_begin);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    rc = inner(job, nodes, min_nodes, max_nodes, req_nodes, mode, preemptee_candidates, preemptee_jobs, exc_cores);
    clock_gettime(CLOCK_MONOTONIC, &end);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_end);
    if (out) {
        fprintf(out, "%u %u %d %lld %lld\n", mode, min_nodes, rc, between(&begin, &end),
                between(&cpu_begin, &cpu_end));
        fflush(out);
    }
    return rc;
}
