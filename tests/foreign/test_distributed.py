"""jax.distributed on our plugin, 2 and 4 processes, gives what one process gives: test_distributed.py PLUGIN.so."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PLUGIN = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).parent
DEVICES = 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(folder, devices):
    config = folder / f"plugin-{devices}.json"
    options = {"cpu_device_count": devices, "collective_timeout_ms": 120000, "topology_timeout_ms": 120000}
    config.write_text(json.dumps({"library_path": str(PLUGIN), "create_options": options}))
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "PJRT_", "XLA_"))}
    return clean | {"PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{config}", "JAX_PLATFORMS": "cpu"}


def run(folder, processes):
    """The results of each process."""
    outs = [folder / f"{processes}-{i}.npz" for i in range(processes)]
    place = [f"127.0.0.1:{free_port()}", str(processes)] if processes > 1 else []
    logs = [open(out.with_suffix(".log"), "w+") for out in outs]
    running = [
        subprocess.Popen(
            [sys.executable, HERE / "distributed_cases.py", out, *place, *([str(i)] if place else [])],
            env=environment(folder, DEVICES // processes), stdout=log, stderr=subprocess.STDOUT)
        for i, (out, log) in enumerate(zip(outs, logs))
    ]
    try:
        codes = [process.wait(timeout=600) for process in running]
    finally:
        for process in running:
            process.kill()
    for code, log in zip(codes, logs):
        log.seek(0)
        text = log.read()
        log.close()
        if code:
            raise AssertionError(f"a process of {processes} left with {code}:\n{text[-5000:]}")
    return [dict(np.load(out)) for out in outs]


class JaxDistributedOnOurPlugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as name:
            cls.results = {n: run(pathlib.Path(name), n) for n in (1, 2, 4)}

    def compare(self, prefix):
        (one,) = self.results[1]
        names = [n for n in one if n.startswith(prefix)]
        self.assertTrue(names)
        for processes in (2, 4):
            for process, ours in enumerate(self.results[processes]):
                for name in names:
                    with self.subTest(name, processes=processes, process=process):
                        self.same(ours[name], one[name], name)

    def same(self, ours, one, name):
        self.assertEqual((ours.dtype, ours.shape), (one.dtype, one.shape))
        if ours.dtype.kind not in "fc":
            return np.testing.assert_array_equal(ours, one)
        # Sums are taken in another order: within processes first.
        tolerance = {"type_sum_bfloat16": 2e-2, "type_sum_float16": 2e-3}.get(name, 2e-6)
        np.testing.assert_allclose(ours, one, rtol=tolerance, atol=tolerance * np.abs(one).max())

    def test_it_is_our_plugin(self):
        for results in self.results.values():
            for one in results:
                self.assertIn("tessera", str(one["platform_version"]))

    def test_spec_1_1_sum_of_sines(self):
        self.compare("sum_of_sines")
        for one in self.results[4]:
            self.assertAlmostEqual(float(one["sum_of_sines"]), -0.123987, places=5)

    def test_sharded_matmul_and_its_gradient(self):
        self.compare("matmul_")

    def test_collectives_over_all_devices_and_over_groups(self):
        self.compare("collective_")

    def test_element_types(self):
        self.compare("type_")

    def test_spec_1_4_a_mesh_of_some_devices(self):
        (one,) = self.results[1]
        for processes in (2, 4):
            members = [r for r in self.results[processes] if "subset" in r]
            self.assertEqual(len(members), 2)
            for member in members:
                self.same(member["subset"], one["subset"], "subset")

    def test_helpers(self):
        for processes in (2, 4):
            for one in self.results[processes]:
                np.testing.assert_array_equal(one["helper_gathered"], [7] * processes)
                self.assertEqual(int(one["helper_from_first"]), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
