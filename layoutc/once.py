"""A property that is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 (as cached_property)
    """
    `functools.cached_property` without a lock: threads that ask at the same time both compute.

    That of Python 3.11 has one lock for all instances, so that no two kernels could be compiled at once, and the child
    of a fork waited for ever for one that a thread of its parent held.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.compute(instance))
