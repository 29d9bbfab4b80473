#include "harness/message/channel_check.h"

#include <string.h>

#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

/* A bool that is neither may not be looked at as one. */
static bool is_flag(const void *flag)
{
    unsigned char byte = 0;
    memcpy(&byte, flag, sizeof byte);
    return byte <= 1;
}

static bool within(long long value, long long least, long long most)
{
    return value >= least && value <= most;
}

bool ypi_stage_is_sound(const struct ypi_stage *stage)
{
    return within(stage->stage, 0, YPI_STAGE_DONE);
}

bool ypi_failure_is_sound(const struct ypi_failure_message *failure)
{
    return within(failure->cause, 0, YPI_CAUSES - 1) && is_flag(&failure->has_file);
}

bool ypi_value_is_sound(const struct ypi_value *value)
{
    return ENDS(value->name) && ENDS(value->unit) && is_flag(&value->of_speed);
}

bool ypi_gradient_is_sound(const struct ypi_gradient *gradient)
{
    return ENDS(gradient->name) && ENDS(gradient->tensor) && is_flag(&gradient->precision) &&
           within(gradient->finding, 0, YP_GRADIENT_IN_FLOAT);
}

bool ypi_memory_is_sound(const struct ypi_memory *memory)
{
    return is_flag(&memory->has_device) && is_flag(&memory->has_heap);
}

static bool bounds_are_sound(const struct ypi_measured *m)
{
    for (int i = 0; i < YPI_BOUNDS; i++)
        if (!ENDS(m->bounds[i].level) || !within(m->bounds[i].ceiling, 0, YP_CEILINGS - 1) ||
            !within(m->bounds[i].stage, 0, YPI_BOUNDS - 1))
            return false;
    return within(m->bound, -1, YPI_BOUNDS - 1);
}

bool ypi_measured_is_sound(const struct ypi_measured *m)
{
    const bool *const flags[] = {&m->cold, &m->on_device.there, &m->on_device.replayed,
                                 &m->on_device.held};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!is_flag(flags[i]))
            return false;
    for (int i = 0; i < YPI_PHASES_MAX; i++)
        if (!ENDS(m->phases[i].name))
            return false;
    for (int i = 0; i < YP_COUNTERS; i++)
        if (!within(m->counts[i].source, 0, YPI_COUNTED_CUPTI))
            return false;
    return ENDS(m->name) && ENDS(m->unit) && within(m->kind, 0, YPI_MEASURED_RUN) &&
           within(m->stop, 0, YPI_STOPS - 1) && within(m->phase_count, 0, YPI_PHASES_MAX) &&
           bounds_are_sound(m);
}

bool ypi_rank_place_is_sound(const struct ypi_rank_place *place)
{
    return ENDS(place->node) && ENDS(place->queue);
}

bool ypi_rank_device_is_sound(const struct ypi_rank_device *device)
{
    return ENDS(device->name) && ENDS(device->place);
}

bool ypi_stack_is_sound(const struct ypi_stack *stack)
{
    for (int i = 0; i < YPI_FRAMES_MAX; i++)
        if (!ENDS(stack->frames[i].module))
            return false;
    return ENDS(stack->name) && is_flag(&stack->of_case) &&
           within(stack->kind, 0, YPI_STACK_BEFORE) && within(stack->count, 0, YPI_FRAMES_MAX);
}
