/* The command `yieldpoint launch`. */
#pragma once

int ypi_launch_command(int argc, char **argv);
