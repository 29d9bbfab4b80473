/* The subcommands of gate/. */
#pragma once

int ypi_gate_command(int argc, char **argv);
int ypi_gates_command(int argc, char **argv);
int ypi_compare_command(int argc, char **argv);
int ypi_reproduce_command(int argc, char **argv);
int ypi_bisect_command(int argc, char **argv);
int ypi_trend_command(int argc, char **argv);
