/* The language model beside PyTorch, eager and compiled: the same sizes, passes and threads. */
#include "suites/perf/peers.h"

#define PASSES yp_axis_string("pass", "forward", "forward_backward", "train_step")
#define PRECISIONS yp_axis_string("precision", "fp32", "bf16")
#define FORMS yp_axis_string("form", "eager", "compile")

/* One short sequence, and the benchmark's own batch. */
static bool is_measured(const struct yp_case *t)
{
    return (yp_int(t, "context") == 128) == (yp_int(t, "batch") == 1);
}

YP_COMMAND(peers, torch_lm, .tags = PEERS_TAGS, .timeout = 1800, .filter = is_measured,
           .axes = YP_AXES(yp_axis_string("size", "small"), yp_axis_int("context", 128, 512),
                           yp_axis_int("batch", 1, 4), PASSES, PRECISIONS, FORMS),
           .command = PEER("torch_lm",
                           "{size} {batch} {context} {pass} {precision} {form} {seed} 2"),
           .environment = "OMP_NUM_THREADS=2 MKL_NUM_THREADS=2");

#define LM_AT_1 "perf/lm.c::small[size=small-context=128-batch=1-"
#define LM_AT_4 "perf/lm.c::sweep[size=small-context=512-batch=4-"
#define TORCH "perf/peers_lm.c::torch_lm[size=small-"
#define TORCH_AT_1 TORCH "context=128-batch=1-"
#define TORCH_AT_4 TORCH "context=512-batch=4-"

#define BESIDE(name_, at_, case_) \
    PEERS_FASTER(lm_##name_##_eager_at_##at_, "pass", LM_AT_##at_ case_ "-cpu]", \
                 TORCH_AT_##at_ case_ "-form=eager]", 1.2); \
    PEERS_FASTER(lm_##name_##_compiled_at_##at_, "pass", LM_AT_##at_ case_ "-cpu]", \
                 TORCH_AT_##at_ case_ "-form=compile]", 1.2)
#define BESIDE_AT(at_) \
    BESIDE(gradient_fp32, at_, "pass=forward_backward-precision=fp32"); \
    BESIDE(gradient_bf16, at_, "pass=forward_backward-precision=bf16"); \
    BESIDE(step_fp32, at_, "pass=train_step-precision=fp32"); \
    BESIDE(step_bf16, at_, "pass=train_step-precision=bf16")

BESIDE_AT(1);
BESIDE_AT(4);
