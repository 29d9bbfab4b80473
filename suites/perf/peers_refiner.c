/* The refiner's mock beside PyTorch, OpenVINO and ONNX Runtime: the same sizes and threads. */
#include "suites/perf/peers.h"

#include <string.h>

/* OpenVINO and ONNX Runtime only infer, and the latter has no bf16. One small image, and four of
 * the larger tile. */
static bool is_measured(const struct yp_case *t)
{
    const char *form = yp_string(t, "form");
    const bool train = strcmp(yp_string(t, "mode"), "train") == 0;
    const bool bf16 = strcmp(yp_string(t, "precision"), "bf16") == 0;
    const bool torch = strcmp(form, "openvino") != 0 && strcmp(form, "onnxruntime") != 0;
    return (yp_int(t, "tile") == 256) == (yp_int(t, "batch") == 1) && (torch || !train) &&
           !(bf16 && strcmp(form, "onnxruntime") == 0);
}

YP_COMMAND(peers, refiner, .tags = PEERS_TAGS, .timeout = 1800, .filter = is_measured,
           .axes = YP_AXES(yp_axis_string("mode", "inference", "train"),
                           yp_axis_int("tile", 256, 384), yp_axis_int("batch", 1, 4),
                           yp_axis_string("precision", "fp32", "bf16"),
                           yp_axis_string("form", "eager", "channels_last", "compile", "openvino",
                                          "onnxruntime")),
           .command = PEER("refiner", "{tile} {batch} {mode} {precision} {form} {seed} 2"),
           .environment = "OMP_NUM_THREADS=2 MKL_NUM_THREADS=2");

#define OURS(case_) "perf/refiner.c::mock_beside[" case_ "]"
#define THEIRS(case_, form_) "perf/peers_refiner.c::refiner[" case_ "-form=" form_ "]"
#define BESIDE(name_, what_, case_, form_, least_) \
    PEERS_FASTER(refiner_##name_, what_, OURS(case_), THEIRS(case_, form_), least_)

#define AT_1(mode_, precision_) "mode=" mode_ "-tile=256-batch=1-precision=" precision_
#define AT_4(mode_, precision_) "mode=" mode_ "-tile=384-batch=4-precision=" precision_
#define BESIDE_AT(at_) \
    BESIDE(openvino_at_##at_, "inference", AT_##at_("inference", "fp32"), "openvino", 1.7); \
    BESIDE(onnxruntime_at_##at_, "inference", AT_##at_("inference", "fp32"), "onnxruntime", 1.7); \
    BESIDE(compiled_at_##at_, "inference", AT_##at_("inference", "fp32"), "compile", 2); \
    BESIDE(openvino_bf16_at_##at_, "inference", AT_##at_("inference", "bf16"), "openvino", 1.25); \
    BESIDE(step_eager_at_##at_, "step", AT_##at_("train", "fp32"), "eager", 1.5); \
    BESIDE(step_channels_last_at_##at_, "step", AT_##at_("train", "fp32"), "channels_last", 1.5); \
    BESIDE(step_compiled_at_##at_, "step", AT_##at_("train", "fp32"), "compile", 1.5)

BESIDE_AT(1);
BESIDE_AT(4);
