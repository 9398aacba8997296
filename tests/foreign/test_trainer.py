"""Our trainer runs unchanged on a plugin that others wrote: test_trainer.py TESSERA OUR_PLUGIN.so.

The same recipe on both plugins must give the same losses, since the program and the seeds are the same.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import lammps_jax_pjrt_cpu

OUR_PLUGIN, TESSERA = sys.argv.pop(), sys.argv.pop()
THEIR_PLUGIN = str(pathlib.Path(lammps_jax_pjrt_cpu.__file__).with_name("pjrt_c_api_cpu_plugin.so"))
STEPS = 20
RECIPE = """
data: {tokenizer: {kind: bytes}}
model: {vocab_size: 512, layers: 2, embed: 64, mlp: 128, heads: 4, kv_heads: 2}
plugin: {devices: 1}
training: {steps: %d, batch_size: 8, sequence_length: 64, dtype: f32, eval_interval: 10}
schedule: {learning_rate: 3e-3, warmup_steps: 5}
checkpoint: {interval: 10}
logging: {interval: 5}
""" % STEPS


def write_corpus(folder):
    """Text with something to learn: sums, written out."""
    for i in range(40):
        lines = [f"{a} and {a * i % 97} make {a + a * i % 97}, as everyone knows." for a in range(60)]
        (folder / f"sums{i}.txt").write_text("\n".join(lines))


class TrainerOnTheirPlugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keep = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.keep.name)
        (cls.folder / "corpus").mkdir()
        write_corpus(cls.folder / "corpus")
        (cls.folder / "recipe.yaml").write_text(RECIPE)
        cls.losses = {name: cls.train(name, plugin) for name, plugin in (("ours", OUR_PLUGIN), ("theirs", THEIR_PLUGIN))}

    @classmethod
    def tearDownClass(cls):
        cls.keep.cleanup()

    @classmethod
    def command(cls, name, plugin):
        out = cls.folder / name
        return [f"output_directory={out}", f"data.store={cls.folder / 'tokens'}", f"data.corpus=[{cls.folder / 'corpus'}]",
                f"plugin.name={plugin}"]

    @classmethod
    def train(cls, name, plugin):
        command = [TESSERA, "train", cls.folder / "recipe.yaml", *cls.command(name, plugin)]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if run.returncode:
            raise AssertionError(f"tessera train on {plugin} left with {run.returncode}:\n{run.stdout}")
        return cls.step_losses(name)

    @classmethod
    def step_losses(cls, name):
        lines = map(json.loads, (cls.folder / name / "metrics.jsonl").read_text().splitlines())
        return {line["step"]: line["loss"] for line in lines if "loss" in line}

    def test_every_step_ran_and_learned(self):
        for name, losses in self.losses.items():
            with self.subTest(name):
                self.assertEqual(len(losses), STEPS)
                self.assertLess(losses[max(losses)], 0.9 * losses[min(losses)])

    def test_the_losses_are_those_of_our_plugin(self):
        for step, ours in self.losses["ours"].items():
            self.assertAlmostEqual(self.losses["theirs"][step] / ours, 1.0, delta=1e-4, msg=f"step {step}")

    def test_a_checkpoint_of_their_plugin_is_resumed_on_ours(self):
        more = [TESSERA, "train", self.folder / "recipe.yaml", *self.command("theirs", OUR_PLUGIN), f"training.steps={STEPS + 2}"]
        run = subprocess.run(more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(sorted(self.step_losses("theirs")), list(range(1, STEPS + 3)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
