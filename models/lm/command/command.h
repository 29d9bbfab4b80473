/* `yieldpoint lm`: plans of the language model's memory, and passes over given tokens. */
#pragma once

/* argv[0] is the command's name; returns an exit code of base/text/output.h. */
int ypi_lm_command(int argc, char **argv);
