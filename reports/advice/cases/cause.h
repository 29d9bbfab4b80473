/* Causes of noise, as far as they were recorded beside a measurement. Each says by what it was
 * seen, and fills {cause}, {faults}, {count} or {effective}. */
#pragma once

#include "reports/advice/rule.h"

/* By the sentence of the likely cause that the history has for the measurement. */
bool ypi_cause_neighbours(const struct ypi_seen *s, struct ypi_finding *f);
bool ypi_cause_held_back(const struct ypi_seen *s, struct ypi_finding *f); /* hypervisor, quota */
bool ypi_cause_clock(const struct ypi_seen *s, struct ypi_finding *f);
bool ypi_cause_moved(const struct ypi_seen *s, struct ypi_finding *f);
bool ypi_cause_disk(const struct ypi_seen *s, struct ypi_finding *f);

bool ypi_cause_device_slow(const struct ypi_seen *s, struct ypi_finding *f);
bool ypi_cause_faults(const struct ypi_seen *s, struct ypi_finding *f);
bool ypi_cause_few(const struct ypi_seen *s, struct ypi_finding *f);
bool ypi_cause_drift(const struct ypi_seen *s, struct ypi_finding *f);
