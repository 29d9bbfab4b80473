/* Normals on a GPU against torch.randn and CuPy, whose bits depend on the device. */
#include "suites/perf/peers.h"

#include "synth/scene/device_stream.h"
#include "synth/scene/purpose.h"

#define COUNT yp_axis_int("count", 1 << 28)

YP_COMMAND(peers_cuda, other_normals, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT,
           .devices = "cuda", .axes = YP_AXES(COUNT, yp_axis_string("by", "torch", "cupy")),
           .command = PEER("normals_cuda", "{by} {count} {seed}"));

YP_TEST(peers_cuda, normals, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .devices = "cuda",
        .axes = YP_AXES(COUNT))
{
    size_t count = (size_t)yp_int(t, "count");
    float *z = yp_alloc(t, count * sizeof *z);
    struct ypi_stream stream = synth_stream(yp_seed(t), 0, SYNTH_NOISE);
    enum yp_status status = YP_OK;
    yp_measure (t, "normals", .items = (double)count, .unit = "values",
                .bytes = 4.0 * (double)count, .traffic = YP_FILL, .footprint = YP_FOOTPRINT_MEMORY)
        status = synth_device_normals(yp_device(t), stream, 0, count, z);
    yp_ok(t, status);
}

/* Equal bits on all devices may cost a fifth of the speed. */
#define NORMALS(name_, by_) \
    YP_RELATION(peers_cuda, name_, .tags = PEERS_TAGS, .devices = "cuda", \
                .budgets = YP_BUDGETS(yp_min_value("ratio", 0.8)), \
                .relation = \
                    yp_ratio("perf/peers_cuda.c::normals[count=268435456-cuda]", \
                             "perf/peers_cuda.c::other_normals[count=268435456-by=" by_ "-cuda]", \
                             "normals"))
NORMALS(torch_normals, "torch");
NORMALS(cupy_normals, "cupy");
