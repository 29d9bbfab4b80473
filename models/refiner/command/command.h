/* `yieldpoint refiner`: a sweep over sizes of tiles and batches. */
#pragma once

/* argv[0] is the command's name; returns an exit code of base/text/output.h, or 130 or 143 after
 * SIGINT or SIGTERM. */
int ypi_refiner_command(int argc, char **argv);
