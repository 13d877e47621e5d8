/*
 * cpu_ops - the table of the CPU's operations, in one instruction set
 */
#include "config.h"
#include "kernels/cpu.h"

#define CPU_NAME2(isa) #isa
#define CPU_NAME(isa)  CPU_NAME2(isa)

const struct ops CPU(ops) = {
    .name = CPU_NAME(CPU_ISA),
    .embed_fwd = ref_embed_fwd,
    .embed_bwd = ref_embed_bwd,
    .linear_fwd = CPU(linear_fwd),
    .linear_bwd = CPU(linear_bwd),
    .norm_fwd = ref_norm_fwd,
    .norm_bwd = ref_norm_bwd,
    .add_norm_fwd = ref_add_norm_fwd,
    .qknorm_fwd = ref_qknorm_fwd,
    .qknorm_bwd = ref_qknorm_bwd,
    .act_fwd = CPU(act_fwd),
    .act_bwd = CPU(act_bwd),
    .glu_fwd = CPU(glu_fwd),
    .glu_bwd = CPU(glu_bwd),
    .linear_act_fwd = CPU(linear_act_fwd),
    .add_fwd = ref_add_fwd,
    .accum = ref_accum,
    .scale = ref_scale,
    .fill = ref_fill,
    .cast = ref_cast,
    .dropout_fwd = ref_dropout_fwd,
    .dropout_bwd = ref_dropout_bwd,
    .rope = ref_rope,
    .attn_fwd = ref_attn_fwd,
    .attn_bwd = ref_attn_bwd,
    .attn_decode = ref_attn_decode,
    .head = ref_head,
    .sumsq = ref_sumsq,
    .adamw = ref_adamw,
    .lion = ref_lion,
    .sgd = ref_sgd,
    .muon = ref_muon,
};
