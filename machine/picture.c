#include "machine/machine.h"

#include "base/text/figures.h"
#include "base/text/text.h"
#include "device/cpu/topology.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- a line -------------------------------------------------------------------------------- */

static bool is_cache(hwloc_obj_t object)
{
    return hwloc_obj_type_is_cache(object->type) != 0;
}

static bool same(hwloc_obj_t a, hwloc_obj_t b)
{
    if (a->type != b->type || a->arity != b->arity || a->memory_arity != b->memory_arity ||
        (is_cache(a) && a->attr->cache.size != b->attr->cache.size))
        return false;
    for (unsigned i = 0; i < a->arity; i++)
        if (!same(a->children[i], b->children[i]))
            return false;
    return true;
}

static void add_label(struct ypi_text *line, hwloc_obj_t object)
{
    char size[YPI_FIGURE_MAX];
    char type[32];
    const char *model = hwloc_obj_get_info_by_name(object, "CPUModel");
    hwloc_obj_type_snprintf(type, sizeof type, object, 0);
    ypi_text_add(line, "%s", type);
    if (is_cache(object)) {
        ypi_format_bytes(size, (double)object->attr->cache.size);
        ypi_text_add(line, " %s", size);
    } else if (model != NULL && *model != '\0') {
        ypi_text_add(line, " %s", model);
    }
    for (hwloc_obj_t node = object->memory_first_child; node != NULL; node = node->next_sibling) {
        ypi_format_bytes(size, (double)node->attr->numanode.local_memory);
        ypi_text_add(line, ", node %u with %s", node->os_index, size);
    }
}

/* "PU 0-3,8" of the processors below all objects of a group. */
static void add_processors(struct ypi_text *line, hwloc_obj_t const *group, unsigned count)
{
    char *list = NULL;
    hwloc_bitmap_t all = hwloc_bitmap_alloc();
    if (all == NULL)
        return;
    for (unsigned i = 0; i < count; i++)
        hwloc_bitmap_or(all, all, group[i]->cpuset);
    if (hwloc_bitmap_list_asprintf(&list, all) >= 0)
        ypi_text_add(line, ": PU %s", list);
    free(list);
    hwloc_bitmap_free(all);
}

/* -- the tree ------------------------------------------------------------------------------ */

static void draw_group(struct ypi_text *out, hwloc_obj_t const *group, unsigned count, int depth);

static void draw_children(struct ypi_text *out, hwloc_obj_t object, int depth)
{
    for (unsigned i = 0; i < object->arity;) {
        unsigned like = 1;
        while (i + like < object->arity && same(object->children[i], object->children[i + like]))
            like++;
        draw_group(out, object->children + i, like, depth);
        i += like;
    }
}

/* One line for equal neighbours. An only child is on its parent's line, and processors are a list
 * of their numbers. Objects with memory of their own get a line each. */
static void draw_group(struct ypi_text *out, hwloc_obj_t const *group, unsigned count, int depth)
{
    if (group[0]->memory_arity > 0 && count > 1) {
        for (unsigned i = 0; i < count; i++)
            draw_group(out, group + i, 1, depth);
        return;
    }
    hwloc_obj_t object = group[0];
    ypi_text_add(out, "%*s", 2 * depth, "");
    if (count > 1)
        ypi_text_add(out, "%u x ", count);
    add_label(out, object);
    while (object->arity == 1 && object->children[0]->type != HWLOC_OBJ_PU &&
           object->children[0]->memory_arity == 0) {
        object = object->children[0];
        ypi_text_add(out, " - ");
        add_label(out, object);
    }
    bool leaf = object->arity == 0 || object->children[0]->type == HWLOC_OBJ_PU;
    if (leaf && object->arity > 1)
        ypi_text_add(out, " of %u PU", object->arity);
    if (leaf)
        add_processors(out, group, count);
    ypi_text_add(out, "\n");
    if (!leaf)
        draw_children(out, object, depth + 1);
}

char *ypi_machine_picture(struct hwloc_topology *topology)
{
    struct ypi_text out = {0};
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    draw_group(&out, &root, 1, 0);
    return ypi_text_take(&out);
}

char *ypi_this_machine_picture(void)
{
    hwloc_topology_t topology = ypi_topology_load();
    if (topology == NULL)
        return ypi_strdup("");
    char *picture = ypi_machine_picture(topology);
    hwloc_topology_destroy(topology);
    return picture;
}
