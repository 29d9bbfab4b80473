/* Everything a test may use. */
#ifndef YIELDPOINT_YIELDPOINT_H
#define YIELDPOINT_YIELDPOINT_H

#include <yieldpoint/array.h>
#include <yieldpoint/budget.h>
#include <yieldpoint/case.h>
#include <yieldpoint/ceiling.h>
#include <yieldpoint/command.h>
#include <yieldpoint/device.h>
#include <yieldpoint/fixture.h>
#include <yieldpoint/gradient.h>
#include <yieldpoint/isa.h>
#include <yieldpoint/measure.h>
#include <yieldpoint/memory.h>
#include <yieldpoint/option.h>
#include <yieldpoint/ranks.h>
#include <yieldpoint/relation.h>
#include <yieldpoint/serve.h>
#include <yieldpoint/test.h>
#include <yieldpoint/tmp_path.h>
#include <yieldpoint/types.h>

#endif
