/* Graphs and the model's tensors in .safetensors files; graphs in .npz files, too.
 *
 * A file of graphs has the arrays of struct graph_batch by their names and shapes, but edges in any
 * order: instead of incoming, source, edge, outgoing and end it has edge_index (2, edges), the
 * nodes where edges begin and those where they end, and edge_attr (edges, GRAPH_EDGE_FEATURES).
 * Real numbers may be F64, F32, F16 or BF16, whole ones I64, I32 or U8. id may be missing, then it
 * is 0, 1, ...; so may counts, 1, and coverage, -1. */
#pragma once

#include "models/data/state.h"
#include "models/graph/model.h"

/* Reads a batch whose arrays are in one piece of the CPU's memory, which graph_give_back() frees.
 * YP_INVALID, with the file, the tensor, what is there and what is allowed: one is missing, has
 * another shape or type, or is none of a batch's; an edge is a loop or is there twice; or what
 * graph_check_batch() says. YP_IO: the file cannot be read, or is neither format. */
enum yp_status graph_read_file(const char *path, struct graph_batch *out);
void graph_give_back(struct graph_batch *batch); /* one without arrays is allowed */

/* The tensors of the vector of parameters; `options` is a struct graph_options. */
state_table graph_state;
