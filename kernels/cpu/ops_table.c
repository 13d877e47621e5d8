/*
 * ops_table - the table of operations of one instruction set
 */
#include "config.h"
#include "kernels/cpu/cpu.h"

#define NAME_OF(isa) #isa
#define NAME(isa)    NAME_OF(isa)

extern cpu_fill_table_fn cpu_fill_table CPU_SYMBOL(cpu_fill_table);

/* The references first, and over them what the set has. */
void cpu_fill_table(struct ops *ops)
{
    *ops = ref_ops;
    ops->name = NAME(CPU_ISA);
#define FILL(op) ops->op = cpu_##op;
    OPS(FILL)
    OPS_CPU(FILL)
#undef FILL
}
