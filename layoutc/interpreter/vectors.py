"""Ops of `vector` as NumPy functions: the lanes of a vector are the last axis of its array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import vector
from xdsl.ir import Attribute, Operation

from layoutc.interpreter.values import Array, Fault, is_vector, value_dtype


def lanes_of(type: Attribute) -> int:
    """Lanes of a vector type; faults unless it has one axis of fixed size."""
    if not is_vector(type) or len(type.scalable_dims) != 1 or type.scalable_dims.data[0].value.data:
        raise Fault(f"no interpretation for {type}, expected a vector of one axis and fixed size")
    return type.get_shape()[0]


def shuffle(op: vector.ShuffleOp, args: tuple[Array, ...]) -> Array:
    """The lanes that the mask names, those of the second vector counted behind those of the first."""
    first, second = args
    lanes, count = np.asarray(op.mask.get_values()), first.shape[-1]
    if (lanes < 0).any():
        raise Fault(f"vector.shuffle: lane {int((lanes < 0).argmax())} is undefined")
    shape = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    result = np.empty((*shape, len(lanes)), first.dtype)
    of_first = lanes < count
    result[..., of_first] = first[..., lanes[of_first]]
    result[..., ~of_first] = second[..., lanes[~of_first] - count]
    return result


def bitcast(op: vector.BitcastOp, args: tuple[Array, ...]) -> Array:
    """The same bytes as lanes of another type."""
    dtype = value_dtype(op.result.type)
    if (args[0].dtype == np.bool_) != (dtype == np.bool_):
        raise Fault(f"vector.bitcast: {op.source.type} and {op.result.type} differ in width")
    return np.ascontiguousarray(args[0]).view(dtype)


def broadcast(op: vector.BroadcastOp, args: tuple[Array, ...]) -> Array:
    if is_vector(op.source.type):
        raise Fault(f"vector.broadcast: no interpretation from {op.source.type} to {op.vector.type}")
    return np.broadcast_to(args[0][..., None], (*args[0].shape, lanes_of(op.vector.type)))


def extract(op: vector.ExtractOp, args: tuple[Array, ...]) -> Array:
    return args[0][..., _position(op)]


def insert(op: vector.InsertOp, args: tuple[Array, ...]) -> Array:
    source, destination = args
    shape = np.broadcast_shapes(source.shape, destination.shape[:-1])
    result = np.broadcast_to(destination, (*shape, destination.shape[-1])).copy()
    result[..., _position(op)] = source
    return result


def _position(op: vector.ExtractOp | vector.InsertOp) -> int:
    """The lane that is meant, checked."""
    positions = op.static_position.get_values()
    if len(positions) != 1 or op.dynamic_position:
        raise Fault(f"{op.name}: no interpretation without one constant position")
    lanes = lanes_of(op.vector.type if isinstance(op, vector.ExtractOp) else op.dest.type)
    if not 0 <= positions[0] < lanes:
        raise Fault(f"{op.name}: lane {positions[0]} is outside of {lanes} lanes")
    return positions[0]


def create_mask(op: vector.CreateMaskOp, args: tuple[Array, ...]) -> Array:
    """The first lanes are on, as many as the operand says."""
    return np.arange(lanes_of(op.mask_vector.type)) < args[0][..., None]


VECTORS: dict[type[Operation], Callable[[Any, tuple[Array, ...]], Array]] = {
    vector.ShuffleOp: shuffle,
    vector.BitcastOp: bitcast,
    vector.BroadcastOp: broadcast,
    vector.ExtractOp: extract,
    vector.InsertOp: insert,
    vector.CreateMaskOp: create_mask,
}
"""pure ops on vectors"""
