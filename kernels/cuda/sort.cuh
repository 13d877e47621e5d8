#pragma once

#include "kernels/cuda/launch.cuh"

/*
 * sort - sort tokens and their indices by token, stably
 *
 * room is sort_room(n) bytes of device memory.  tokens(n) lie in [0, vocab).
 * Afterwards, in stream order, (*key)[i] is the i-th token in ascending order
 * and (*row)[i] its index in tokens; equal tokens keep their order.
 */
size_t sort_room(int64_t n);
void sort_tokens(struct dev *dev, void *room, const int *tokens, int64_t n,
                 int64_t vocab, const unsigned **key, const unsigned **row);
