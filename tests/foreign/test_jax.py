"""JAX on our plugin gives what JAX gives on its own CPU backend: test_jax.py PLUGIN.so.

Each side runs cases.py in a process of its own, because a process has one CPU backend.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PLUGIN = pathlib.Path(sys.argv.pop(1)).resolve()
HERE = pathlib.Path(__file__).parent
DEVICES = 8


def run_cases(folder, name, environment):
    out = folder / f"{name}.npz"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "PJRT_", "XLA_"))}
    subprocess.run([sys.executable, HERE / "cases.py", out], env=clean | environment | {"JAX_PLATFORMS": "cpu"}, check=True, timeout=600)
    return dict(np.load(out))


class JaxOnOurPlugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            config = folder / "plugin.json"
            config.write_text(json.dumps({"library_path": str(PLUGIN), "create_options": {"cpu_device_count": DEVICES}}))
            cls.theirs = run_cases(folder, "theirs", {"JAX_NUM_CPU_DEVICES": str(DEVICES)})
            cls.ours = run_cases(folder, "ours", {"PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{config}"})

    def compare(self, *prefixes):
        names = [n for n in self.theirs if n.startswith(prefixes)]
        self.assertTrue(names)
        for name in names:
            theirs, ours = self.theirs[name], self.ours[name]
            with self.subTest(name):
                self.assertEqual((theirs.dtype, theirs.shape), (ours.dtype, ours.shape))
                if theirs.dtype.kind not in "fc":
                    np.testing.assert_array_equal(ours, theirs)
                else:  # two builds of XLA may order sums differently
                    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6 * np.abs(theirs).max())

    def test_the_two_sides_are_different_backends(self):
        self.assertIn("tessera", str(self.ours["platform_version"]))
        self.assertNotIn("tessera", str(self.theirs["platform_version"]))

    def test_matmul(self):
        self.compare("matmul_")

    def test_gradient_of_an_mlp(self):
        self.compare("mlp_")

    def test_donated_step(self):
        self.compare("donated_")
        self.assertTrue(self.ours["donated_deleted"].all())
        self.assertEqual(str(self.ours["donated_reuse"]), "deleted")

    def test_jit_sharded_over_eight_devices(self):
        self.compare("sharded_")
        self.assertEqual(int(self.ours["sharded_devices"]), DEVICES)

    def test_collectives_in_shard_map(self):
        self.compare("psum", "pmax", "all_gather", "psum_scatter", "all_to_all", "ppermute")

    def test_random_numbers(self):
        self.compare("random_")

    def test_element_types(self):
        self.compare("dtype_")


if __name__ == "__main__":
    unittest.main(verbosity=2)
