/* Which results an export is about. */
#pragma once

#include "reports/exports/exports.h"

struct ypi_exported {
    struct ypi_exported_result {
        char *id, *case_id, *machine; /* machine: fingerprint, "" where it is not known */
        long long order;              /* by time */
        bool newest;                  /* of its case on its machine */
    } * list;                         /* by case, machine and time */
    size_t count;
};

/* The caller clears *out, also after an error. YP_IO with yp_last_error() set. */
enum yp_status ypi_exported_load(struct ypi_exported *out, const struct ypi_export *e);
void ypi_exported_clear(struct ypi_exported *all);
