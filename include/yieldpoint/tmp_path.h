/*
 * Temporary directories of a case, like pytest's tmp_path:
 *
 *     YP_TEST(cubes, written)
 *     {
 *         char path[PATH_MAX];
 *         snprintf(path, sizeof path, "%s/cube.img", yp_tmp_path(t));
 *         ...
 *     }
 *
 * Each process of a case has its own directory, empty at the beginning; this includes repetitions
 * (--repeat) and the fresh processes that confirm a budget. The runner removes the directory with
 * all its contents after the process, even after a crash or a time-out. Directories of a fixture
 * stay until the run is over, so a fixture can provide paths. If the runner was killed, the next
 * run with the same history removes its directories. --keep-tmp=failed keeps those of failed
 * processes, --keep-tmp=all keeps all. A note of the case then states where they are; nothing
 * removes them later.
 */
#ifndef YIELDPOINT_TMP_PATH_H
#define YIELDPOINT_TMP_PATH_H

#include <stdint.h>
#include <yieldpoint/case.h>

YPI_BEGIN_C

/* The absolute path of the case's directory, owned by the case and valid to its end. The first call
 * creates it below TMPDIR, or /tmp. Never NULL: if it cannot be created, the case fails. Only one
 * thread may call this at a time. */
const char *yp_tmp_path(struct yp_case *t);

/* The same in memory, to keep the disk out of a measurement: in /dev/shm if that has `bytes` free
 * at the first call, else yp_tmp_path(). Files there are neither accounted nor resident memory of
 * the case. */
const char *yp_tmp_path_in_memory(struct yp_case *t, uint64_t bytes);

YPI_END_C

#endif
