"""Weights and tokens that a formula gives, the same to the bit as formula.h: nothing large is stored.

Element i of stream s is the finalizer of MurmurHash3 (Appleby) of i + (s + 1) * 0x9E3779B9, in 32 bits.
"""

import numpy as np


def hashed(stream, count):
    """u32[count]"""
    x = np.arange(count, dtype=np.uint32) + np.uint32((stream + 1) * 0x9E3779B9 & 0xFFFFFFFF)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> np.uint32(16)
    return x


def weights(stream, *dims):
    """f32 in [-1, 1) / 32, in steps of 2^-28: a standard deviation of 0.018."""
    top = (hashed(stream, int(np.prod(dims))) >> np.uint32(8)).astype(np.float32)
    return ((top * np.float32(2.0**-23) - np.float32(1)) * np.float32(2.0**-5)).reshape(dims)


def scales(stream, *dims):
    """f32 in [0.5, 1.5): for normalization, so that an omitted one shows."""
    return weights(stream, *dims) * np.float32(16) + np.float32(1)


def tokens(stream, vocabulary, *dims):
    """s32 in [0, vocabulary)"""
    return (hashed(stream, int(np.prod(dims))) % np.uint32(vocabulary)).astype(np.int32).reshape(dims)
