/* `yieldpoint init`. */
#pragma once

/* Writes a first suite, its build file, yieldpoint.ini and files for CI below the working
 * directory, and prints what to run next. argv[0] is the subcommand's name. Returns the exit code:
 * YPI_COMMAND_FILE where a file of these names is there already, which is left as it is. */
int ypi_init_command(int argc, char **argv);
