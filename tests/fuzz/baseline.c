/* A file of baselines: read, written again, and read to the same. */
#include "harness/baseline/baseline.h"

#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_same(const struct ypi_baseline_entry *a, const struct ypi_baseline_entry *b)
{
    FUZZ_CHECK(strcmp(a->id, b->id) == 0 && strcmp(a->machine, b->machine) == 0);
    FUZZ_CHECK(a->b.of == b->b.of && strcmp(a->b.name, b->b.name) == 0 && a->b.seed == b->b.seed);
    FUZZ_CHECK(same(a->b.typical, b->b.typical) && same(a->b.slower, b->b.slower) &&
               same(a->b.deviation, b->b.deviation));
    FUZZ_CHECK(a->b.of != YPI_BASELINE_EXACT || strcmp(a->b.exact, b->b.exact) == 0);
    FUZZ_CHECK(a->b.processes == b->b.processes && a->b.runs == b->b.runs &&
               strcmp(a->b.commit, b->b.commit) == 0 && strcmp(a->b.date, b->b.date) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("baseline.ini");
    struct ypi_baseline_file file;
    struct ypi_baseline_file again;
    fuzz_write(path, data, size);
    const bool right = ypi_baseline_read(path, &file);
    if (right) {
        FUZZ_CHECK(ypi_baseline_write(path, &file) == YP_OK);
        FUZZ_CHECK(ypi_baseline_read(path, &again) && again.count == file.count);
        for (int i = 0; i < file.count; i++)
            check_same(&file.list[i], &again.list[i]);
        ypi_baseline_file_clear(&again);
    }
    ypi_baseline_file_clear(&file);
    return 0;
}
