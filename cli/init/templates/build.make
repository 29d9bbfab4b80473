# Tests of Yieldpoint: `make -C @FOLDER@ check`. The project's own makefile has no part in it.
BUILD ?= build
CC ?= cc
CFLAGS ?= -O2
# What is tested: sources of the project, such as @UP@/parse.c, and -I for its headers. A library such as
# @UP@/libmylib.a needs a rule here that builds it, or must be built before: by [gate] build of yieldpoint.ini, too.
TESTED =
INCLUDES =

suite = $(BUILD)/perf-suite

$(suite): suite.c $(TESTED)
	@mkdir -p $(BUILD)
	$(CC) -std=gnu17 $(CFLAGS) $(INCLUDES) $$(pkg-config --cflags yieldpoint) -o $@ suite.c $(TESTED) \
		$$(pkg-config --libs yieldpoint)

check: $(suite)
	$(suite) -m "not slow"

clean:
	rm -rf $(BUILD)

.PHONY: check clean
