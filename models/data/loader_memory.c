/* The loader's options and the one block of memory it lives in. */
#include "models/data/loader_internal.h"

#define MAX_ITEMS ((size_t)1 << 40)
#define MAX_ELEMENT_BYTES ((size_t)1 << 32)
#define MAX_SLOTS ((size_t)4096)
#define LINE ((size_t)64)

static enum yp_status check_size(const char *field, size_t value, size_t high)
{
    if (value >= 1 && value <= high)
        return YP_OK;
    return yp_set_error(YP_INVALID, "data_loader_options.%s is %zu: must be 1 to %zu", field, value,
                        high);
}

static enum yp_status check_cpus(const struct data_loader_options *o)
{
    if ((o->cpus == NULL) != (o->cpu_count == 0))
        return yp_set_error(YP_INVALID,
                            "data_loader_options.cpus is %s and cpu_count is %zu: must be a list "
                            "and its length, or NULL and 0",
                            o->cpus == NULL ? "NULL" : "a list", o->cpu_count);
    for (size_t i = 0; i < o->cpu_count; i++)
        if (o->cpus[i] < 0 || o->cpus[i] >= YPI_LOADER_CPUS)
            return yp_set_error(YP_INVALID, "data_loader_options.cpus[%zu] is %d: must be 0 to %d",
                                i, o->cpus[i], YPI_LOADER_CPUS - 1);
    return YP_OK;
}

static enum yp_status check_options(const struct data_loader_options *o)
{
    if (o == NULL || o->fill == NULL)
        return yp_set_error(YP_INVALID, "%s is NULL: must not be",
                            o == NULL ? "data_loader_options" : "data_loader_options.fill");
    if (o->workers < 0 || o->workers > DATA_LOADER_WORKERS)
        return yp_set_error(YP_INVALID, "data_loader_options.workers is %d: must be 0 to %d",
                            o->workers, DATA_LOADER_WORKERS);
    enum yp_status status = check_size("items", o->items, MAX_ITEMS);
    if (status == YP_OK)
        status = check_size("elements", o->elements, UINT32_MAX);
    if (status == YP_OK)
        status = check_size("element_bytes", o->element_bytes, MAX_ELEMENT_BYTES);
    if (status == YP_OK && o->workers > 0)
        status = check_size("depth", o->depth, MAX_SLOTS);
    if (status == YP_OK)
        status = check_size("consumers", o->consumers, MAX_SLOTS);
    return status == YP_OK ? check_cpus(o) : status;
}

static size_t padded(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

void ypi_loader_lay_out(struct data_loader *l, struct ypi_arena *arena)
{
    const struct data_loader_options *o = &l->o;
    l->depth = o->workers > 0 ? o->depth : 0;
    l->slot_count = l->depth + o->consumers;
    l->data_stride = padded(o->elements * o->element_bytes);
    l->labels_stride = padded(o->elements);
    ypi_arena_take(arena, 1, sizeof *l);
    l->slots = ypi_arena_take(arena, l->slot_count, sizeof *l->slots);
    l->worker = ypi_arena_take(arena, (size_t)o->workers, sizeof *l->worker);
    l->begun = ypi_arena_take(arena, (o->items + 63) / 64, sizeof *l->begun);
    l->data = ypi_arena_take(arena, l->slot_count, l->data_stride);
    l->labels = o->labels ? ypi_arena_take(arena, l->slot_count, l->labels_stride) : NULL;
}

size_t data_loader_bytes(const struct data_loader_options *options)
{
    if (check_options(options) != YP_OK)
        return 0;
    struct data_loader counted = {.o = *options};
    struct ypi_arena arena = {0};
    ypi_loader_lay_out(&counted, &arena);
    if (!arena.overflow)
        return arena.used;
    yp_set_error(YP_INVALID,
                 "data_loader_options.elements x element_bytes is %zu x %zu and depth + consumers "
                 "%zu: together they must fit a size_t",
                 options->elements, options->element_bytes, counted.slot_count);
    return 0;
}
