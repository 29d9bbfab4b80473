/*
 * A CUPTI with no device behind it, written against the toolkit's own headers: that device/cuda
 * declares its structures and calls them in the right order is what is tested with it. A call that
 * comes when it must not, or with a structure of another size, gives CUPTI_ERROR_INVALID_OPERATION
 * or CUPTI_ERROR_INVALID_PARAMETER.
 *
 * FAKE_CUPTI names what it should be like, words apart by blanks:
 *     METRIC=V      what is counted for a metric, by a part of its name [1]; the last word that
 *                   fits counts
 *     passes=N      how often the work has to be executed [3]
 *     announced=N   how often it says that it has to be [passes]
 *     unknown=PART  metrics with that in their names it does not know
 *     ranges=N      that were counted [1]
 *     dropped=N     ranges that were not [0]
 *     vgpu          counting is not enabled for the virtual device
 *     CALL:N        that call of the interface (without "cupti") comes to the error N
 */
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define PUBLIC extern "C" __attribute__((visibility("default")))

namespace
{

constexpr size_t IMAGE = 64, COUNTED = 128, METRICS_MAX = 64;

struct Host {
    size_t count;
    bool refused;
};

struct {
    bool initialized, enabled, set, started, pushed, had_range, decoded;
    size_t pass; /* over, of this configuration */
    size_t configured;
    uint8_t *counted;
} now;

/* The value of the last word that begins so; false: there is none. */
bool word(const char *begin, long long *value)
{
    const char *all = getenv("FAKE_CUPTI");
    size_t length = strlen(begin);
    bool found = false;
    for (const char *at = all; at != nullptr && *at != '\0'; at += strspn(at, " ")) {
        if (strncmp(at, begin, length) == 0 && strchr("=: ", at[length]) != nullptr) {
            found = true;
            if (value != nullptr && at[length] != '\0')
                *value = atoll(at + length + 1);
        }
        at += strcspn(at, " ");
    }
    return found;
}

long long number(const char *name, long long otherwise)
{
    word(name, &otherwise);
    return otherwise;
}

CUptiResult asked(const char *call)
{
    return static_cast<CUptiResult>(number(call, CUPTI_SUCCESS));
}

bool is_unknown(const char *metric)
{
    const char *all = getenv("FAKE_CUPTI");
    for (const char *at = all != nullptr ? strstr(all, "unknown=") : nullptr; at != nullptr;
         at = strstr(at + 8, "unknown=")) {
        char part[128];
        snprintf(part, sizeof part, "%.*s", static_cast<int>(strcspn(at + 8, " ")), at + 8);
        if (strstr(metric, part) != nullptr)
            return true;
    }
    return strstr(metric, ".sum") == nullptr;
}

double value_of(const char *metric)
{
    const char *all = getenv("FAKE_CUPTI");
    double value = 1;
    for (const char *at = all; at != nullptr && *at != '\0'; at += strspn(at, " ")) {
        char part[128];
        size_t whole = strcspn(at, " ");
        size_t length = strcspn(at, "= ");
        snprintf(part, sizeof part, "%.*s", static_cast<int>(length), at);
        if (at[length] == '=' && strstr(metric, part) != nullptr)
            value = atof(at + length + 1);
        at += whole;
    }
    return value;
}

size_t passes(void)
{
    return static_cast<size_t>(number("passes", 3));
}

} // namespace

#define CHECK(type_, p_, call_) \
    if ((p_)->structSize != type_##_STRUCT_SIZE || (p_)->pPriv != nullptr) \
        return CUPTI_ERROR_INVALID_PARAMETER; \
    if (asked(call_) != CUPTI_SUCCESS) \
    return asked(call_)
#define REQUIRE(condition_) \
    if (!(condition_)) \
    return CUPTI_ERROR_INVALID_OPERATION

PUBLIC CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    *str = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                         : "CUPTI_ERROR_OTHER";
    return result == CUPTI_ERROR_FORCE_INT ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

/* -- the target ------------------------------------------------------------------------------ */

PUBLIC CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
    CHECK(CUpti_Profiler_Initialize_Params, p, "ProfilerInitialize");
    now.initialized = true;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
    CHECK(CUpti_Device_GetChipName_Params, p, "DeviceGetChipName");
    REQUIRE(now.initialized && p->deviceIndex == 0);
    p->pChipName = "FAKE100";
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p)
{
    CHECK(CUpti_Profiler_DeviceSupported_Params, p, "ProfilerDeviceSupported");
    REQUIRE(now.initialized && p->api == CUPTI_PROFILER_RANGE_PROFILING && p->cuDevice == 0);
    bool vgpu = word("vgpu", nullptr);
    p->architecture = p->sli = p->confidentialCompute = p->cmp = p->wsl =
        CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    p->vGpu = vgpu ? CUPTI_PROFILER_CONFIGURATION_DISABLED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    p->isSupported =
        vgpu ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult
cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p)
{
    CHECK(CUpti_Profiler_GetCounterAvailability_Params, p, "ProfilerGetCounterAvailability");
    REQUIRE(now.initialized && p->ctx != nullptr);
    if (p->pCounterAvailabilityImage != nullptr) {
        REQUIRE(p->counterAvailabilityImageSize == IMAGE);
        memset(p->pCounterAvailabilityImage, 0x5a, IMAGE);
    }
    p->counterAvailabilityImageSize = IMAGE;
    return CUPTI_SUCCESS;
}

/* -- the host -------------------------------------------------------------------------------- */

PUBLIC CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
    CHECK(CUpti_Profiler_Host_Initialize_Params, p, "ProfilerHostInitialize");
    REQUIRE(p->profilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER &&
            strcmp(p->pChipName, "FAKE100") == 0 &&
            p->pCounterAvailabilityImage[IMAGE - 1] == 0x5a);
    p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object *>(new Host());
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
    CHECK(CUpti_Profiler_Host_Deinitialize_Params, p, "ProfilerHostDeinitialize");
    delete reinterpret_cast<Host *>(p->pHostObject);
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult
cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params *p)
{
    CHECK(CUpti_Profiler_Host_GetMetricProperties_Params, p, "ProfilerHostGetMetricProperties");
    REQUIRE(p->pHostObject != nullptr);
    if (is_unknown(p->pMetricName))
        return CUPTI_ERROR_INVALID_METRIC_NAME;
    p->pDescription = p->pHwUnit = p->pDimUnit = "made up";
    p->metricType = CUPTI_METRIC_TYPE_COUNTER;
    return CUPTI_SUCCESS;
}

/* As the real one: after a refusal everything is refused. */
PUBLIC CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
    CHECK(CUpti_Profiler_Host_ConfigAddMetrics_Params, p, "ProfilerHostConfigAddMetrics");
    Host *host = reinterpret_cast<Host *>(p->pHostObject);
    if (host->refused || p->numMetrics == 0 || p->numMetrics > METRICS_MAX)
        return CUPTI_ERROR_UNKNOWN;
    for (size_t i = 0; i < p->numMetrics; i++)
        host->refused = host->refused || is_unknown(p->ppMetricNames[i]);
    host->count += p->numMetrics;
    return host->refused ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

PUBLIC CUptiResult
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
    CHECK(CUpti_Profiler_Host_GetConfigImageSize_Params, p, "ProfilerHostGetConfigImageSize");
    p->configImageSize = sizeof(size_t);
    return CUPTI_SUCCESS;
}

/* The image says how many metrics are in it. */
PUBLIC CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
    CHECK(CUpti_Profiler_Host_GetConfigImage_Params, p, "ProfilerHostGetConfigImage");
    REQUIRE(p->configImageSize == sizeof(size_t));
    memcpy(p->pConfigImage, &reinterpret_cast<Host *>(p->pHostObject)->count, sizeof(size_t));
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
    CHECK(CUpti_Profiler_Host_GetNumOfPasses_Params, p, "ProfilerHostGetNumOfPasses");
    REQUIRE(p->configImageSize == sizeof(size_t) && p->pConfigImage[0] > 0);
    p->numOfPasses = static_cast<size_t>(number("announced", static_cast<long long>(passes())));
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
    CHECK(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p, "ProfilerHostEvaluateToGpuValues");
    REQUIRE(now.decoded && p->rangeIndex == 0 && p->counterDataImageSize == COUNTED &&
            p->pCounterDataImage == now.counted && p->numMetrics == now.configured);
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] = value_of(p->ppMetricNames[i]);
    return CUPTI_SUCCESS;
}

/* -- ranges ---------------------------------------------------------------------------------- */

static CUpti_RangeProfiler_Object *profiler(void)
{
    return reinterpret_cast<CUpti_RangeProfiler_Object *>(&now);
}

PUBLIC CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p)
{
    CHECK(CUpti_RangeProfiler_Enable_Params, p, "RangeProfilerEnable");
    REQUIRE(now.initialized && !now.enabled && p->ctx != nullptr);
    now.enabled = true;
    p->pRangeProfilerObject = profiler();
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p)
{
    CHECK(CUpti_RangeProfiler_Disable_Params, p, "RangeProfilerDisable");
    REQUIRE(now.enabled && p->pRangeProfilerObject == profiler());
    now.enabled = now.set = now.decoded = now.started = now.pushed = false;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult
cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p)
{
    CHECK(CUpti_RangeProfiler_GetCounterDataSize_Params, p, "RangeProfilerGetCounterDataSize");
    REQUIRE(now.enabled && p->pRangeProfilerObject == profiler() && p->maxNumOfRanges == 1 &&
            p->maxNumRangeTreeNodes >= 1 && p->numMetrics > 0 && p->pMetricNames[0] != nullptr);
    p->counterDataSize = COUNTED;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p)
{
    CHECK(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, p,
          "RangeProfilerCounterDataImageInitialize");
    REQUIRE(now.enabled && p->counterDataSize == COUNTED && p->pCounterData[COUNTED - 1] == 0);
    p->pCounterData[0] = 0x77;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p)
{
    CHECK(CUpti_RangeProfiler_SetConfig_Params, p, "RangeProfilerSetConfig");
    REQUIRE(now.enabled && !now.set && !now.started && p->range == CUPTI_UserRange &&
            p->replayMode == CUPTI_UserReplay && p->maxRangesPerPass == 1 &&
            p->numNestingLevels == 1 && p->minNestingLevel == 1 && p->targetNestingLevel == 1 &&
            p->passIndex == 0 && p->configSize == sizeof(size_t) &&
            p->counterDataImageSize == COUNTED && p->pCounterDataImage[0] == 0x77);
    memcpy(&now.configured, p->pConfig, sizeof now.configured);
    now.counted = p->pCounterDataImage;
    now.set = true;
    now.decoded = false;
    now.pass = 0;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p)
{
    CHECK(CUpti_RangeProfiler_Start_Params, p, "RangeProfilerStart");
    REQUIRE(now.set && !now.started && now.pass < passes());
    now.started = true;
    now.had_range = false;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p)
{
    CHECK(CUpti_RangeProfiler_PushRange_Params, p, "RangeProfilerPushRange");
    REQUIRE(now.started && !now.pushed && !now.had_range && p->pRangeName != nullptr);
    now.pushed = true;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p)
{
    CHECK(CUpti_RangeProfiler_PopRange_Params, p, "RangeProfilerPopRange");
    REQUIRE(now.pushed);
    now.pushed = false;
    now.had_range = true;
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p)
{
    CHECK(CUpti_RangeProfiler_Stop_Params, p, "RangeProfilerStop");
    REQUIRE(now.started && now.had_range && !now.pushed);
    now.started = false;
    now.pass++;
    p->passIndex = now.pass;
    p->isAllPassSubmitted = now.pass == passes();
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p)
{
    CHECK(CUpti_RangeProfiler_DecodeData_Params, p, "RangeProfilerDecodeData");
    REQUIRE(!now.started && now.pass == passes());
    now.decoded = true;
    p->numOfRangeDropped = static_cast<size_t>(number("dropped", 0));
    return CUPTI_SUCCESS;
}

PUBLIC CUptiResult
cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p)
{
    CHECK(CUpti_RangeProfiler_GetCounterDataInfo_Params, p, "RangeProfilerGetCounterDataInfo");
    REQUIRE(now.decoded && p->counterDataImageSize == COUNTED &&
            p->pCounterDataImage == now.counted);
    p->numTotalRanges = static_cast<size_t>(number("ranges", 1));
    return CUPTI_SUCCESS;
}
