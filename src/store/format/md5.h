#pragma once

#include <stddef.h>

/*
 * md5 - the digest that MLflow names datasets and inputs by (RFC 1321)
 *
 * It only names things; it protects nothing.
 */
void md5(const void *data, size_t n, unsigned char out[16]);
void md5_hex(const void *data, size_t n, char out[33]);
