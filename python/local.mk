# The Python package, and the wheel that has it with libgtrack, gtrack and
# gplot: `make wheel`.
EXTRA_DIST += \
	%D%/gtrack/__init__.py \
	%D%/gtrack/__init__.pyi \
	%D%/gtrack/_api.py \
	%D%/gtrack/_artifact.py \
	%D%/gtrack/_config.py \
	%D%/gtrack/_console.py \
	%D%/gtrack/_current.py \
	%D%/gtrack/_errors.py \
	%D%/gtrack/_init.py \
	%D%/gtrack/_lib.py \
	%D%/gtrack/_media.py \
	%D%/gtrack/_run.py \
	%D%/gtrack/_run_about.py \
	%D%/gtrack/_program.py \
	%D%/gtrack/_run_files.py \
	%D%/gtrack/_tensorboard.py \
	%D%/gtrack/_values.py \
	%D%/gtrack/_watch.py \
	%D%/gtrack/as_wandb/__init__.py \
	%D%/gtrack/as_wandb/__main__.py \
	%D%/gtrack/as_wandb/door/wandb-0.31.0.dist-info/METADATA \
	%D%/gtrack/as_wandb/door/wandb/__init__.py \
	%D%/gtrack/integrations/__init__.py \
	%D%/gtrack/integrations/accelerate.py \
	%D%/gtrack/integrations/keras.py \
	%D%/gtrack/integrations/lightning.py \
	%D%/gtrack/integrations/sb3.py \
	%D%/gtrack/integrations/torch.py \
	%D%/gtrack/integrations/transformers.py \
	%D%/gtrack/mlflow.py \
	%D%/gtrack/plot.py \
	%D%/gtrack/py.typed \
	%D%/gtrack/util.py \
	%D%/glibc.h \
	%D%/wheel

# What is in a wheel has its libraries inside, but for the C library and those
# that are opened by name, and no debugging information.
wheel_link = $(CC) -static-libgcc $(CFLAGS) $(GT_LDFLAGS) $(LDFLAGS) -s \
	'-Wl,-rpath,$$ORIGIN/../lib/gtrack'
wheel_libs = sed 's/-l\(yaml\|jansson\|inih\|z\|zstd\|isal\)\>/-l:lib\1.a/g; s/-fopenmp//; s/-lstdc++/-l:libstdc++.a/'
wheel_make = $(AM_V_at)$${GT_PYTHON:-python3} $(srcdir)/python/wheel
wheel: libgtrack.so.0 gtrack gplot
	$(AM_V_at)$(MKDIR_P) wheel/files
	$(AM_V_GEN)$(wheel_link) -shared -Wl,-soname,libgtrack.so.0 \
	    -Wl,--version-script=$(srcdir)/src/store/lib/libgtrack.map \
	    -o wheel/files/libgtrack.so.0 src/store/lib/whole.o \
	    $$(echo $(YAML_LIBS) $(LIBS) | $(wheel_libs)) -lpthread
	$(AM_V_GEN)$(wheel_link) -o wheel/files/gtrack $(gtrack_OBJECTS) \
	    $$(echo $(gtrack_LDADD) $(LIBS) | $(wheel_libs))
	$(AM_V_GEN)$(wheel_link) -o wheel/files/gplot $(gplot_OBJECTS) \
	    $$(echo $(gplot_LDADD) $(LIBS) | $(wheel_libs))
	$(wheel_make) gtrack $(PACKAGE_VERSION) wheel/files wheel

# Both wheels, and the archive with the same files, which runs from any folder.
# MPI comes from the machine, so configure with --without-mpi.
bindist = $(PACKAGE)-$(PACKAGE_VERSION)-$(host_cpu)
wheels: wheel gtrain gdata
	$(AM_V_GEN)$(wheel_link) -o wheel/files/gtrain $(gtrain_OBJECTS) \
	    $$(echo $(gtrain_LDADD) $(LIBS) | $(wheel_libs)) \
	    -l:libgomp.a -lpthread -ldl
	$(AM_V_GEN)$(wheel_link) -o wheel/files/gdata $(gdata_OBJECTS) \
	    $$(echo $(gdata_LDADD) $(LIBS) | $(wheel_libs)) -lpthread
	$(wheel_make) gtrain $(PACKAGE_VERSION) wheel/files wheel
bindist: wheels
	$(AM_V_at)rm -rf wheel/$(bindist)
	$(AM_V_at)$(MAKE) -s $(AM_MAKEFLAGS) install-data \
	    DESTDIR=$(abs_builddir)/wheel/$(bindist) prefix=/ >/dev/null
	$(AM_V_at)cd wheel/files && $(MKDIR_P) ../$(bindist)/bin \
	    ../$(bindist)/lib/gtrack && cp gtrain gdata gtrack gplot ../$(bindist)/bin && \
	    cp libgtrack.so.0 ../$(bindist)/lib && \
	    { test ! -d lib || cp -R lib ../$(bindist); }
	$(AM_V_GEN)tar -C wheel --owner=0 --group=0 -cJf \
	    wheel/$(bindist).tar.xz $(bindist)
	$(AM_V_at)rm -rf wheel/$(bindist) && echo wheel/$(bindist).tar.xz
clean-local: clean-wheel
clean-wheel:
	rm -rf wheel
.PHONY: wheel wheels bindist clean-wheel
