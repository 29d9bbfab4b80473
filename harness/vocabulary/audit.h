/* Declared work held against what a device counted (--audit): CUPTI on CUDA devices. */
#pragma once

#include "harness/vocabulary/result.h"

/* Whether a measurement was counted so. */
bool ypi_audited(const struct ypi_measured *m);

/* What was counted of the kind that is declared, an iteration. Operations: of integers or of 8 bits
 * where .arithmetic says so, else all floating ones. Bytes: of the second-level cache where the
 * footprint fits into it, else of memory. NaN: not counted, or none that can be compared. */
double ypi_audit_operations(const struct ypi_measured *m);
double ypi_audit_bytes(const struct ypi_measured *m);
/* What is declared of that, .bounds too. */
double ypi_audit_declared_operations(const struct ypi_measured *m);
double ypi_audit_declared_bytes(const struct ypi_measured *m);

/* "1e+09 operations (1.00 of declared), 24.0 MiB of memory (0.98 of declared)". */
void ypi_audit_text(const struct ypi_measured *m, char *out, size_t size);

/* Where declared and counted work differ by more than a factor of two, one sentence; false where
 * they are not, or cannot be compared. */
bool ypi_audit_contradicts(const struct ypi_measured *m, char *out, size_t size);

/* What the device does not count though it should, by name; false: nothing. */
bool ypi_audit_missing(const struct ypi_measured *m, char *out, size_t size);
