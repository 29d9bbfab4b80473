/* The file that tells the other ranks where rank 0 is. */
#pragma once

#include "ranks/socket/endpoint.h"

#define YPK_RENDEZVOUS "ranks" /* its name in the directory of ypk_join() */

struct ypk_meeting {
    uint8_t token[YPK_TOKEN];  /* a rank shows it to rank 0 and to others */
    uint8_t answer[YPK_TOKEN]; /* rank 0 shows it to a rank */
    int size, node;            /* of rank 0 */
    struct ypk_endpoint endpoint;
};

/* Writes it whole or not at all, for this user alone. YP_IO. */
enum yp_status ypk_meeting_write(const struct ypk_meeting *meeting, const char *directory);

/* False when it is not there or not whole. */
bool ypk_meeting_read(struct ypk_meeting *out, const char *directory);

void ypk_meeting_remove(const char *directory);
