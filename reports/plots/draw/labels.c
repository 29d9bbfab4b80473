#include "reports/plots/draw/draw.h"

static bool overlap(const struct ypi_box *a, const struct ypi_box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

static bool is_inside(const struct ypi_box *a, const struct ypi_box *frame)
{
    return a->x >= frame->x && a->y >= frame->y && a->x + a->width <= frame->x + frame->width &&
           a->y + a->height <= frame->y + frame->height;
}

void ypi_boxes_take(struct ypi_boxes *boxes, struct ypi_box box)
{
    if (boxes->count == boxes->capacity) {
        boxes->capacity = boxes->capacity * 2 + 64;
        boxes->list = ypi_realloc(boxes->list, boxes->capacity, sizeof *boxes->list);
    }
    boxes->list[boxes->count++] = box;
}

static bool is_free(const struct ypi_boxes *boxes, const struct ypi_box *box)
{
    if (!is_inside(box, &boxes->frame))
        return false;
    for (size_t i = 0; i < boxes->count; i++)
        if (overlap(box, &boxes->list[i]))
            return false;
    return true;
}

bool ypi_boxes_place(struct ypi_boxes *boxes, double x, double y, double radius, double width,
                     double height, struct ypi_box *out)
{
    /* Where the label's middle lies, in half sizes from the mark: beside it first. */
    static const struct {
        double x, y;
    } sides[] = {{1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    for (double apart = radius + 2; apart < radius + 10; apart += 6) {
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            struct ypi_box box = {x + sides[i].x * (apart + width / 2) - width / 2,
                                  y + sides[i].y * (apart + height / 2) - height / 2, width,
                                  height};
            if (is_free(boxes, &box)) {
                ypi_boxes_take(boxes, box);
                *out = box;
                return true;
            }
        }
    }
    return false;
}
