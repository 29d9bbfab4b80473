/* The results as JUnit's XML, for the CI systems that read it: elements and attributes of the
 * schema of Jenkins' xUnit plugin (junit-10.xsd), filled as pytest does (xunit2). */
#ifndef YPI_JUNIT_H
#define YPI_JUNIT_H

#include "harness/tell/tell.h"

struct ypi_junit;

/* Begins a file that takes the place of PATH when the run is over, so that nobody reads half of it;
 * makes its directory. NULL with yp_last_error() set. */
struct ypi_junit *ypi_junit_begin(const char *path, const struct ypi_session *s);

/* Adds a case, with its measurements, values and memory as properties. */
void ypi_junit_case(struct ypi_junit *junit, const struct ypi_result *r);

/* Ends and frees it; takes NULL. YP_IO with yp_last_error() set when something was not written. */
enum yp_status ypi_junit_end(struct ypi_junit *junit);

/* Frees it and leaves no file; takes NULL. */
void ypi_junit_abandon(struct ypi_junit *junit);

#endif
