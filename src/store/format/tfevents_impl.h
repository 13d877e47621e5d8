#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * tfevents_impl - what writing and reading events share
 *
 * A record: the length, 8 bytes, and its masked CRC, 4; the data and theirs.
 * Event: 1 wall_time double, 2 step, 3 file_version, 5 Summary, 7 SessionLog.
 * Summary: 1 Value.  Value: 1 tag, 2 simple_value float, 4 image, 5 histogram,
 * 6 audio, 8 tensor, 9 SummaryMetadata.  SessionLog: 1 status, of which START
 * makes TensorBoard forget this run's events from that step on.
 * (tensorflow/core/util/event.proto, framework/summary.proto)
 */
enum {
    HEAD = 12,
    TAIL = 4,
    RECORD_MAX = 256 << 20,
    DT_FLOAT = 1,
    DT_DOUBLE = 2,
    DT_STRING = 7,
    SUMMARY = 5,
    SESSION = 7,
    SESSION_START = 1
};

/* The checksum of a part of a record. */
uint32_t tfevents_crc(const void *data, size_t n);
