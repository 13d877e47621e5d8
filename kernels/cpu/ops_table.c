/*
 * cpu_ops - the table of the CPU's operations, in one instruction set
 */
#include "config.h"
#include "kernels/cpu/cpu.h"

#define CPU_NAME2(isa) #isa
#define CPU_NAME(isa)  CPU_NAME2(isa)

const struct ops CPU(ops) = {
    .name = CPU_NAME(CPU_ISA),
    .embed_fwd = CPU(embed_fwd),
    .embed_bwd = CPU(embed_bwd),
    .linear_fwd = CPU(linear_fwd),
    .linear_bwd = CPU(linear_bwd),
    .norm_fwd = CPU(norm_fwd),
    .norm_bwd = CPU(norm_bwd),
    .add_norm_fwd = CPU(add_norm_fwd),
    .qknorm_fwd = CPU(qknorm_fwd),
    .qknorm_bwd = CPU(qknorm_bwd),
    .act_fwd = CPU(act_fwd),
    .act_bwd = CPU(act_bwd),
    .glu_fwd = CPU(glu_fwd),
    .glu_bwd = CPU(glu_bwd),
    .linear_act_fwd = CPU(linear_act_fwd),
    .act_linear_bwd = CPU(act_linear_bwd),
    .add_fwd = CPU(add_fwd),
    .accum = CPU(accum),
    .scale = CPU(scale),
    .fill = CPU(fill),
    .cast = CPU(cast),
    .cast_random = CPU(cast_random),
    .dropout_fwd = CPU(dropout_fwd),
    .dropout_bwd = CPU(dropout_bwd),
    .rope = CPU(rope),
    .attn_fwd = CPU(attn_fwd),
    .attn_bwd = CPU(attn_bwd),
    .attn_decode = CPU(attn_decode),
    .head = CPU(head),
    .sumsq = CPU(sumsq),
    .adamw = CPU(adamw),
    .lion = CPU(lion),
    .sgd = CPU(sgd),
    .muon = CPU(muon),
    .normal = CPU(normal),
    .quantize = CPU(quantize),
    .linear_int8_fwd = CPU(linear_int8_fwd),
};
