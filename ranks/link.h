/* The least that an operation of the ranks takes here, whatever carries its data: a ceiling for
 * work that exchanges data. */
#pragma once

#include "ranks/probe.h"

struct ypk_link;

/* Collective, of two ranks and more. `what` is no barrier; `bytes` is the operation's size as
 * ypk_probe() has it, 1 at least. On one node it is a handshake with the neighbours and a copy, of
 * all ranks at once: as many bytes as each rank has to read and write at least, from a neighbour
 * that has just written them, in memory that the probe alone uses (up to 256 MiB a rank). On
 * several nodes, or where the ranks cannot see each other's memory, it is the communicator's own
 * operation. The caller closes it. */
enum yp_status ypk_link_open(struct ypk_link **out, struct ypk_communicator *c,
                             enum ypk_probed what, size_t bytes);

/* Whether it is by memory of the ranks. */
bool ypk_link_is_memory(const struct ypk_link *link);

/* Collective: seconds of one operation on the slowest rank, the mean over about `seconds`. All
 * ranks get the same. */
enum yp_status ypk_link_run(struct ypk_link *link, double seconds, double *each);

void ypk_link_close(struct ypk_link *link); /* takes NULL; not collective */
