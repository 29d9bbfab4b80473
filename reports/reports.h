/*
 * What `yieldpoint` can show of a history. Each takes the words of its command line from its own
 * name on and returns the exit code; what goes wrong is told on the standard error stream.
 */
#ifndef YPI_REPORTS_H
#define YPI_REPORTS_H

enum ypi_report_exit {
    YPI_REPORT_OK = 0,
    YPI_REPORT_NOTHING = 1, /* nothing matched */
    YPI_REPORT_FILE = 3,    /* the history, or the output, cannot be read or written */
    YPI_REPORT_USAGE = 4,   /* the command line */
};

int ypi_report_history(int argc, char **argv);
int ypi_report_show(int argc, char **argv);

#endif
