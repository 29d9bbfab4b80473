/* `yieldpoint graph`: plans of the graph trajectory model's memory, and passes over given graphs.
 */
#pragma once

/* argv[0] is the command's name; returns an exit code of base/text/output.h. */
int ypi_graph_command(int argc, char **argv);
