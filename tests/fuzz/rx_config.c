/* The ini file of a pipeline and its training, as it stands. */
#include "models/rx/config.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

/* The reader alone is tried: defaults are zeros here, and no trainer is made of what it takes. */
struct train_config train_defaults(void)
{
    return (struct train_config){.epochs = 1};
}

static bool within(double value, double low, double high)
{
    return value >= low && value <= high;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rx_config config, again;
    fuzz_enter();
    fuzz_write("rx.ini", data, size);
    enum yp_status status = rx_config_read("rx.ini", &config);
    FUZZ_CHECK(status == YP_OK || status == YP_INVALID);
    if (status != YP_OK) {
        FUZZ_CHECK(strstr(yp_last_error(), "rx.ini") != NULL);
        FUZZ_CHECK(config.text == NULL);
        fuzz_leave();
        return 0;
    }
    const struct rx_pipeline_options *o = &config.options;
    const struct train_config *t = &config.training;
    FUZZ_CHECK(config.length == size && memcmp(config.text, data, size) == 0);
    FUZZ_CHECK(within(o->keep, 0, 1e6) && within(o->temperature, 0, 1e6));
    FUZZ_CHECK(within(o->entropy, -1e30, 1e30) && within(o->eps, 0, 1e30));
    FUZZ_CHECK(o->components <= RX_MAX_CHANNELS && o->hidden <= RX_MAX_CHANNELS);
    FUZZ_CHECK((unsigned)o->detector <= RX_AUTOENCODER && (unsigned)o->hard <= RX_TOP_ONES);
    FUZZ_CHECK(o->select || (o->keep == 0 && !o->uniform && o->entropy == 0));
    FUZZ_CHECK(o->components > 0 || (!o->whiten && !o->residual && o->orthogonality == 0));
    FUZZ_CHECK(within(t->validation, 0, 1) && isfinite(t->adamw.lr) && t->batch <= 1000000000);
    FUZZ_CHECK(rx_config_read("rx.ini", &again) == YP_OK);
    FUZZ_CHECK(rx_config_identity(&config) == rx_config_identity(&again));
    rx_config_clear(&config);
    rx_config_clear(&again);
    fuzz_leave();
    return 0;
}
