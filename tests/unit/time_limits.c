/* For builds with a sanitizer, under which a test takes many times as long, most of all where
 * kernels run on the emulated device: ten times the time limits that the tests declare. A test that
 * hangs still ends. */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>

ReportHook(PRE_ALL)(struct criterion_test_set *set)
{
    FOREACH_SET (struct criterion_suite_set *suite, set->suites) {
        if (suite->suite.data != NULL)
            suite->suite.data->timeout *= 10;
        FOREACH_SET (struct criterion_test *test, suite->tests)
            test->data->timeout *= 10;
    }
}
