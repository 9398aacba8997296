"""Teaches Python's zarr the data types that tensorstore and ml_dtypes have and zarr has not: bfloat16, float8, int4."""

import dataclasses

import ml_dtypes
import numpy as np
from zarr.core.dtype.common import HasItemSize
from zarr.dtype import DataTypeValidationError, ZDType, data_type_registry


def _make(name: str) -> type:
    native = np.dtype(getattr(ml_dtypes, name))

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Type(ZDType, HasItemSize):
        dtype_cls = type(native)
        _zarr_v3_name = name

        @property
        def item_size(self):
            return native.itemsize

        @classmethod
        def from_native_dtype(cls, dtype):
            if dtype == native:
                return cls()
            raise DataTypeValidationError(f"{dtype} is not {name}")

        def to_native_dtype(self):
            return native

        @classmethod
        def _from_json_v2(cls, data):
            raise DataTypeValidationError(f"Zarr v2 has no {name}")

        @classmethod
        def _from_json_v3(cls, data):
            if data == name:
                return cls()
            raise DataTypeValidationError(f"{data} is not {name}")

        def to_json(self, zarr_format):
            return name

        def _check_scalar(self, data):
            return True

        def cast_scalar(self, data):
            return native.type(data)

        def default_scalar(self):
            return native.type(0)

        def from_json_scalar(self, data, *, zarr_format):
            return native.type(data)

        def to_json_scalar(self, data, *, zarr_format):
            return float(data)

    Type.__name__ = Type.__qualname__ = name
    return Type


def register() -> None:
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"):
        data_type_registry.register(name, _make(name))
