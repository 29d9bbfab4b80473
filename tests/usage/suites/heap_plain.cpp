/* heap_plain NAME: runs that program of heap_programs.h; NAME none: nothing. */
#include "tests/usage/suites/heap_programs.h"

static thread_local volatile int of_thread = 1;

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } programs[] = {{"lists", lists},     {"strings", strings},       {"aligned", aligned},
                    {"threads", threads}, {"containers", containers}, {"none", [] {}}};
    for (const auto &p : programs)
        if (argc == 2 && strcmp(argv[1], p.name) == 0) {
            p.run();
            return 0;
        }
    return 4 * of_thread;
}
