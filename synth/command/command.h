/* yieldpoint synth: makes cubes and their truth, and stores them. */
#ifndef YIELDPOINT_SYNTH_COMMAND_H
#define YIELDPOINT_SYNTH_COMMAND_H

/* Takes the words of its command line from its own name on. Returns the exit code: 0, 3 (a file),
 * 4 (the command line or the ini file), 130 or 143 (SIGINT or SIGTERM). What goes wrong is told on
 * the standard error stream. */
int ypi_synth_command(int argc, char **argv);

#endif
