/* `yieldpoint lm`: plans of the language model's memory, and passes over given tokens. */
#ifndef LM_COMMAND_H
#define LM_COMMAND_H

/* argv[0] is the command's name; returns an exit code of base/text/output.h. */
int ypi_lm_command(int argc, char **argv);

#endif
