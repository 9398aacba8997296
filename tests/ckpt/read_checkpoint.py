"""Reads every array of a checkpoint with Python's zarr and with tensorstore, and compares it bit for bit.

usage: read_checkpoint.py PROGRAM     PROGRAM FOLDER writes FOLDER/checkpoints/<step> and FOLDER/expected/<array>.bin
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes  # tensorstore's types come from it
import numpy as np
import tensorstore as ts
import zarr
import zarr_dtypes

# How Tessera's names are called in NumPy; what tests compare is the bytes.
NUMPY = {
    "bool": "bool", "s4": "int4", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "u4": "uint8",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
}


def host_bytes(array: np.ndarray) -> bytes:
    """As Tessera holds it: four-bit integers in a byte each, with their sign."""
    array = np.ascontiguousarray(array)
    return (array.astype(np.int8) if array.dtype == ml_dtypes.int4 else array).tobytes()


def main(folder: pathlib.Path) -> int:
    zarr_dtypes.register()
    (checkpoint,) = (folder / "checkpoints").iterdir()
    manifest = json.loads((checkpoint / "checkpoint.json").read_text())
    group = zarr.open_group(checkpoint / "state", mode="r")
    failures = 0
    for name, record in manifest["state"].items():
        expected = (folder / "expected" / f"{name}.bin").read_bytes()
        path = name.replace(".", "/")
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(checkpoint / "state" / path)}}
        read = {
            "zarr": group[path],
            "tensorstore": ts.open(spec, read=True).result(),
        }
        for reader, handle in read.items():
            values = np.asarray(handle[...] if reader == "zarr" else handle.read().result())
            good = (
                list(values.shape) == record["shape"]
                and values.dtype.name == NUMPY[record["dtype"]]
                and host_bytes(values) == expected
            )
            if not good:
                failures += 1
                print(f"{name}: {reader} read {values.dtype.name}{list(values.shape)}, not what was written ({record})")
    # What the metadata says beside the bytes.
    up = group["params/layers/mlp/up"]
    if up.metadata.dimension_names != ("layers", "embed", "mlp"):
        failures += 1
        print(f"params.layers.mlp.up: dimension names are {up.metadata.dimension_names}")
    # A flipped bit must not pass their checks either: ours are the checksums that they know.
    chunk = checkpoint / "state/params/f32/whole/c.0.0"
    data = bytearray(chunk.read_bytes())
    data[5] ^= 1
    chunk.write_bytes(data)
    for reader in ("zarr", "tensorstore"):
        try:
            if reader == "zarr":
                group["params/f32/whole"][...]
            else:
                spec["kvstore"]["path"] = str(chunk.parent)
                ts.open(spec, read=True).result().read().result()
            failures += 1
            print(f"{reader} did not notice a flipped bit")
        except ValueError as error:
            print(f"{reader} noticed the flipped bit: {str(error)[:90]}")
    print(f"{len(manifest['state'])} arrays by 2 readers, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sample = pathlib.Path(scratch) / "sample"
        subprocess.run([sys.argv[1], str(sample)], check=True)
        sys.exit(main(sample))
