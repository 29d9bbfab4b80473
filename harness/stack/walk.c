#include "harness/stack/walk.h"

#include "base/text/text.h"
#include "harness/stack/cfi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_frame(const struct ypi_target *target, uint64_t address, struct ypi_stack *out)
{
    struct ypi_frame *frame = &out->frames[out->count++];
    const struct ypi_module *module = ypi_target_module(target, address);
    frame->offset = address - (module != NULL ? module->base : 0);
    snprintf(frame->module, sizeof frame->module, "%s", module != NULL ? module->name : "");
}

void ypi_walk(const struct ypi_target *target, const struct ypi_registers *registers,
              uint64_t below, struct ypi_stack *out)
{
    struct ypi_registers now = *registers;
    bool exact = true; /* else pc is where a call returns to, which may be another line's */
    out->count = 0;
    while (out->count < YPI_FRAMES_MAX) {
        const uint64_t stack = now.value[YPI_REGISTER_SP];
        if (below != 0 && stack > below) {
            out->count -= out->count > 0;
            return;
        }
        const uint64_t address = now.pc - !exact;
        add_frame(target, address, out);
        if (!ypi_cfi_step(target, address, &now, &exact) ||
            (!exact && now.value[YPI_REGISTER_SP] <= stack))
            return;
    }
}

int ypi_walk_stopped(pid_t pid, uint64_t below_at, const struct ypi_thread *threads, int count,
                     struct ypi_stack *out)
{
    struct ypi_target target;
    pid_t *ids = ypi_calloc((size_t)count + 1, sizeof *ids);
    struct ypi_registers *registers = ypi_calloc((size_t)count + 1, sizeof *registers);
    int error = 0;
    for (int i = 0; i < count; i++) {
        ids[i] = threads[i].id;
        memset(&out[i], 0, offsetof(struct ypi_stack, frames));
        out[i].kind = YPI_STACK_STUCK;
        out[i].thread = threads[i].id;
        out[i].of_case = threads[i].id == pid;
        memcpy(out[i].name, threads[i].name, sizeof out[i].name);
    }
    if (ypi_target_same_program(pid) && ypi_target_open(&target, pid)) {
        error = ypi_registers_of_stopped(pid, ids, count, registers);
        for (int i = 0; i < count; i++) {
            uint64_t below = 0;
            if (out[i].of_case && below_at != 0)
                ypi_target_get(&target, below_at, &below, sizeof below);
            if (registers[i].known != 0)
                ypi_walk(&target, &registers[i], below, &out[i]);
        }
        ypi_target_close(&target);
    }
    free(registers);
    free(ids);
    return error;
}
