/* `yieldpoint synth` generates cubes with their ground truth and stores them; `yieldpoint plays`
 * does so with plays of American football. */
#pragma once

/* argv[0] is the subcommand's name. Returns the exit code: 0, 3 (a file), 4 (command line or ini
 * file), 130 or 143 (SIGINT or SIGTERM). Errors are printed on the standard error stream. */
int ypi_synth_command(int argc, char **argv);
int ypi_plays_command(int argc, char **argv);
