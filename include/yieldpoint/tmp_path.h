/*
 * Directories for what a case writes, as pytest's tmp_path:
 *
 *     YP_TEST(cubes, written)
 *     {
 *         char path[PATH_MAX];
 *         snprintf(path, sizeof path, "%s/cube.img", yp_tmp_path(t));
 *         ...
 *     }
 *
 * A directory is the case's alone, and empty when its process begins: each of --repeat and each
 * fresh process that confirms a budget has its own. The runner removes it with all that is in it
 * when the process has ended, however it ended: a crash and a time-out leave nothing. Those of a
 * fixture stay until the run is over, so that it can provide paths. What a killed runner leaves,
 * the next run with the same history removes. --keep-tmp=failed keeps those of processes that
 * failed, and --keep-tmp=all keeps all; a note of the case then says where they are, and nothing
 * removes them later.
 */
#ifndef YIELDPOINT_TMP_PATH_H
#define YIELDPOINT_TMP_PATH_H

#include <stdint.h>
#include <yieldpoint/case.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The whole path of the case's directory, made below TMPDIR, or /tmp, when it is asked for first;
 * it stays the case's, and the same to its end. Never NULL: the case fails where no directory can
 * be made. By one thread at a time. */
const char *yp_tmp_path(struct yp_case *t);

/* The same in memory, where the disk is not to decide how long something takes: in the system's
 * file system in memory, /dev/shm, if that has `bytes` free when it is asked for first, else
 * yp_tmp_path(). What is written there is in nobody's account and no part of resident memory. */
const char *yp_tmp_path_in_memory(struct yp_case *t, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
