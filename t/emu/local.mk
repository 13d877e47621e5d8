# The emulator of CUDA, with stand-ins for cuBLASLt and cuDNN: the device that
# the tests and rehearsals call "cuda", and the one of configure --with-cuda=emu.
EXTRA_LIBRARIES += t/emu/libemu.a
t_emu_libemu_a_SOURCES = $(cuda_c)
if HAVE_CUDNN
t_emu_libemu_a_SOURCES += \
	%D%/cudnn_emu.c \
	%D%/cudnn_emu.h \
	%D%/cudnn_emu_run.c
endif
t_emu_libemu_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -I$(top_srcdir)/t
t_emu_libemu_a_LIBADD = $(EMU_OBJECTS)
t_emu_libemu_a_DEPENDENCIES = $(EMU_OBJECTS)
EMU_OBJECTS = $(cu_sources:.cu=.emuo) %D%/cublaslt_emu.emuo
EXTRA_DIST += \
	%D%/cublaslt_emu.cu \
	%D%/cudnn_emu.c \
	%D%/cudnn_emu.h \
	%D%/cudnn_emu_run.c \
	%D%/emu.cuh \
	%D%/emu_api.cuh \
	%D%/emu_fiber.cuh \
	%D%/emu_race.cu \
	%D%/emu_run.cuh \
	%D%/emu_warp.cuh \
	%D%/nccl_emu.c

# The trainer with this device: t/cuda tests it, and gtrain rehearse starts it
# where there is no GPU.  It takes longer to compile than all other programs, so
# only check-all does that.
EXTRA_PROGRAMS += gtrain-emulated
emulated = gtrain-emulated
install-emulated: gtrain-emulated
	$(MKDIR_P) $(DESTDIR)$(pkglibexecdir)
	$(INSTALL_PROGRAM) gtrain-emulated $(DESTDIR)$(pkglibexecdir)
.PHONY: install-emulated
gtrain_emulated_SOURCES = kernels/dev.c
# nccl_emu.c calls back
gtrain_emulated_LDFLAGS = -rdynamic
gtrain_emulated_CPPFLAGS = $(AM_CPPFLAGS) -DHAVE_CUDA=1
EXTRA_gtrain_emulated_DEPENDENCIES = $(gtrain_OBJECTS)
gtrain_emulated_LDADD = $(gtrain_OBJECTS) t/emu/libemu.a $(TRAINER_LIBS) \
	-lstdc++

AM_V_EMU = $(am__v_EMU_@AM_V@)
am__v_EMU_ = $(am__v_EMU_@AM_DEFAULT_V@)
am__v_EMU_0 = @echo "  EMU     " $@;
am__v_EMU_1 =

.cu.emuo:
	$(AM_V_EMU)$(MKDIR_P) $(@D) && \
	$(CXX) -std=c++20 $(GT_EMUFLAGS) $(OPENMP_CFLAGS) $(CXXFLAGS) -I. \
	    $(AM_CPPFLAGS) -I$(top_srcdir)/t -MD -MP -MF $@.d -MT $@ -x c++ \
	    -c $< -o $@
CLEANFILES += $(EMU_OBJECTS) $(EMU_OBJECTS:.emuo=.emuo.d)
-include $(EMU_OBJECTS:.emuo=.emuo.d)

# The same kernels, told of every access by the compiler's thread sanitizer;
# emu_race.cu takes the place of its library.
RACE_KERNELS = $(EMU_OBJECTS:.emuo=.raceo)
RACE_OBJECTS = $(RACE_KERNELS) %D%/emu_race.emuo
.cu.raceo:
	$(AM_V_EMU)$(MKDIR_P) $(@D) && \
	$(CXX) -std=c++20 $(GT_EMUFLAGS) $(OPENMP_CFLAGS) $(CXXFLAGS) -DEMU_RACE \
	    -fsanitize=thread -Wno-tsan -I. $(AM_CPPFLAGS) -I$(top_srcdir)/t \
	    -MD -MP -MF $@.d -MT $@ -x c++ -c $< -o $@
CLEANFILES += $(RACE_OBJECTS) $(RACE_KERNELS:.raceo=.raceo.d) \
	%D%/emu_race.emuo.d
-include $(RACE_KERNELS:.raceo=.raceo.d) %D%/emu_race.emuo.d
