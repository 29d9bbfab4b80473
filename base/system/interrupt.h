/* SIGINT, SIGTERM and SIGHUP as a flag that loops look at. */
#pragma once

#include <stdbool.h>

/* From now on they set the flag; a second one ends the process at once, with exit code 2. */
const volatile bool *ypi_interrupt_watch(void);
