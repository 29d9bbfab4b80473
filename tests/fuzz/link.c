/* What a case says to the gate over the socket of --turns. */
#include "gate/pair/link.h"

#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SAID_MAX = 16384 };

/* Answers as the gate does. */
static bool answer(struct ypi_link *link, enum ypi_link_word word)
{
    switch (word) {
    case YPI_LINK_MEASUREMENT:
        FUZZ_CHECK(strlen(link->name) < YPI_LINK_NAME_MAX);
        ypi_link_run(link, 1);
        return true;
    case YPI_LINK_TOOK:
        FUZZ_CHECK(isfinite(link->seconds) && link->seconds > 0);
        FUZZ_CHECK(isfinite(link->iterations) && link->iterations > 0);
        ypi_link_run(link, link->iterations);
        return true;
    case YPI_LINK_OVER:
        ypi_link_next(link);
        return true;
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    size = size < SAID_MAX ? size : SAID_MAX;
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    struct ypi_link link = {.listener = -1, .fd = ends[0]};
    FUZZ_CHECK(size == 0 || write(ends[1], data, size) == (ssize_t)size);
    close(ends[1]);
    while (answer(&link, ypi_link_read(&link, 0, 60, NULL)))
        continue;
    ypi_link_leave(&link);
    ypi_link_close(&link);
    return 0;
}
