/*
 * What `yieldpoint` can show of a history. Each takes the words of its command line from its own
 * name on and returns an enum ypi_command_exit; what goes wrong is printed on the standard error
 * stream.
 */
#pragma once

int ypi_report_history(int argc, char **argv);
int ypi_report_show(int argc, char **argv);
int ypi_report_budgets(int argc, char **argv);
int ypi_report_baseline(int argc, char **argv);
int ypi_report_command(int argc, char **argv);
int ypi_report_watch(int argc, char **argv);
