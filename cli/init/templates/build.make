# Tests of Yieldpoint: `make -C @FOLDER@ check`. The project's own makefile has no part in it.
BUILD ?= build
CC ?= cc
CFLAGS ?= -O2
# What is tested: sources, objects or libraries of the project, such as @UP@/libmylib.a, and -I for its headers.
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
