/* SPDX-License-Identifier: GPL-2.0-or-later
 * Slurm's headers (of the source tree named by ATOLL_SLURM_SOURCE), and the symbols that only slurmctld has.
 * The plugin is also loaded by squeue, srun, slurmd …: there those are absent, so they are weak.
 */
#ifndef ATOLL_SLURM_HEADERS_H
#define ATOLL_SLURM_HEADERS_H

#include "config.h"

#include "src/common/slurm_xlator.h"

#include "src/common/bitstring.h"
#include "src/common/gres.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/plugin.h"
#include "src/common/run_in_daemon.h"
#include "src/common/select.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/slurmctld.h"

#pragma weak node_record_table_ptr
#pragma weak node_record_count
#pragma weak slurm_conf

#endif
