#!/usr/bin/env python3
"""PyTorch's numbers for t/unit/fp8.c: fp8.py >fp8.txt

A line "value FORMAT CODE BITS" says what a code of 8 bits stands for, as the
bits of a float; a line "code FORMAT BITS CODE" how a float is rounded, after it
has been limited to the largest number of the format.
"""
import random
import struct

import torch

FORMATS = (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2))


def bits_of(x):
    return x.view(torch.int32).item() & 0xFFFFFFFF


def main():
    random.seed(8)
    print("# PyTorch", torch.__version__)
    for name, kind in FORMATS:
        codes = torch.arange(256, dtype=torch.int32).to(torch.uint8)
        values = codes.view(kind).float()
        most = torch.finfo(kind).max
        for code, x in enumerate(values):
            print("value %s %02x %08x" % (name, code, bits_of(x)))
        for _ in range(400):
            exponent = random.uniform(-20, 18)
            x = random.choice((-1, 1)) * 2.0**exponent
            if random.random() < 0.5:  # half way, or next to it
                near = random.randrange(0x7A)
                x = (values[near] + values[near + 1]).item() / 2
                x *= random.choice((1, 1, 1.001, 0.999))
            t = torch.tensor(struct.unpack("f", struct.pack("f", x))[0])
            code = t.clamp(-most, most).to(kind).view(torch.uint8).item()
            print("code %s %08x %02x" % (name, bits_of(t), code))


main()
