#!/usr/bin/env python3
"""Reads our event files with TensorBoard's own reader: usage: read_events.py WRITE_EVENTS_PROGRAM."""
import glob
import os
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader


def scalars(accumulator, tag):
    return [(event.step, event.value) for event in accumulator.Scalars(tag)]


def check_values(accumulator):
    tags = {"learning/" + name for name in ("loss", "learning_rate", "grad_norm", "z_loss")}
    tags |= {"perf/" + name for name in ("step_time_seconds", "tokens_per_second", "tflops_per_device", "gemm_peak_share")}
    tags |= {"eval/loss", "eval/perplexity", "data/wait_ms"}
    tags |= {"checkpoint/" + name for name in ("stall_seconds", "copy_seconds", "write_seconds", "commit_seconds", "bytes")}
    assert set(accumulator.Tags()["scalars"]) == tags, accumulator.Tags()["scalars"]

    losses = scalars(accumulator, "learning/loss")
    assert [step for step, _ in losses] == list(range(1, 11)), losses  # each once, though the first start went on to 7
    for step, loss in losses:
        expected = 1 / step + (100 if step > 4 else 0)
        assert abs(loss - expected) < 1e-5, (step, loss, expected)

    assert {value for _, value in scalars(accumulator, "perf/tokens_per_second")} == {8192.0}
    assert {value for _, value in scalars(accumulator, "perf/tflops_per_device")} == {1.0}
    assert {value for _, value in scalars(accumulator, "perf/gemm_peak_share")} == {0.5}
    assert scalars(accumulator, "checkpoint/stall_seconds")[-1] == (10, 0.25)
    assert scalars(accumulator, "checkpoint/bytes")[-1] == (10, 4096.0)
    assert {value for _, value in scalars(accumulator, "data/wait_ms")} == {3.0}
    (step, perplexity), = scalars(accumulator, "eval/perplexity")
    assert step == 10 and abs(perplexity - 2) < 1e-6, (step, perplexity)
    times = [event.wall_time for event in accumulator.Scalars("learning/loss")]
    assert times[:2] == [1700000000.5, 1700000001.0], times


def check_damage_is_seen(folder):
    """The reader checks our checksums: with one bit turned it must stop, else they would be decoration."""
    path = sorted(glob.glob(os.path.join(folder, "*tfevents*")))[0]
    whole = len(list(EventFileLoader(path).Load()))
    with open(path, "r+b") as file:
        file.seek(200)
        byte = file.read(1)[0]
        file.seek(200)
        file.write(bytes([byte ^ 1]))
    assert len(list(EventFileLoader(path).Load())) < whole


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        accumulator = EventAccumulator(folder)
        accumulator.Reload()
        check_values(accumulator)
        check_damage_is_seen(folder)
    print("TensorBoard reads what was written")


main()
