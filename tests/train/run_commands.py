#!/usr/bin/env python3
"""Runs the program as a user does, on a tiny model: usage: run_commands.py TESSERA_PROGRAM FOLDER_OF_PLUGIN [TEST ...].

What only shows from outside: exit codes, signals, full disks, what a second start makes of what the first one left.
"""
import glob
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
os.environ["TESSERA_PLUGIN_PATH"] = os.path.abspath(sys.argv[2])

RECIPE = """\
output_directory: run
data: {store: tokens, corpus: [corpus.jsonl], tokenizer: {kind: bytes}, validation_fraction: 0.1}
model: {vocab_size: 264, layers: 2, embed: 32, mlp: 64, heads: 2, kv_heads: 1}
training: {steps: 10, batch_size: 4, sequence_length: 32, dtype: f32, eval_interval: 0}
checkpoint: {interval: 1000}
logging: {tensorboard: false}
plugin: {devices: 2}
"""


def small_files_only():
    """As on a full disk: the system refuses to write past the first 4 KiB of any file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("recipe.yaml", RECIPE)
        self.write("corpus.jsonl", "".join(json.dumps({"text": f"Document {i}: " + "a b c d e f " * 8}) + "\n" for i in range(40)))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_program(self, *arguments, code=0, **options):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def train(self, *overrides, code=0, **options):
        return self.run_program("train", "recipe.yaml", *overrides, code=code, **options).stderr

    def start(self, *overrides):
        process = subprocess.Popen([PROGRAM, "train", "recipe.yaml", *overrides], cwd=self.folder, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stderr.close()))
        return process

    @staticmethod
    def wait_for(process, text):
        for line in process.stderr:
            if text in line:
                return
        raise AssertionError(f"ended without a line with {text!r}")

    def checkpoints(self):
        return sorted(int(os.path.basename(path)) for path in glob.glob(os.path.join(self.folder, "run/checkpoints/[0-9]*")))

    def logged_steps(self):
        with open(os.path.join(self.folder, "run/metrics.jsonl"), encoding="utf-8") as file:
            return [line["step"] for line in map(json.loads, file) if "loss" in line]

    def test_interrupt_saves_and_the_same_command_goes_on(self):
        process = self.start("training.steps=1000000")
        self.wait_for(process, "step 3/")
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        self.assertEqual(process.wait(), 0, rest)
        stopped, = self.checkpoints()
        self.assertIn(f"stopped after step {stopped} of 1000000", rest)
        self.assertIn(f"step {stopped}", self.run_program("checkpoint", "ls", "run").stdout)

        log = self.train(f"training.steps={stopped + 5}", "schedule.warmup_steps=1")
        self.assertIn(f"at step {stopped}", log)
        self.assertEqual(self.logged_steps(), list(range(1, stopped + 6)))

    def test_a_second_interrupt_ends_the_run_at_once(self):
        process = self.start()
        self.wait_for(process, "plugin:")  # of the resolved config: signals are taken care of from before it
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)  # two of a kind that arrive together are one
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)

    def test_a_killed_run_goes_on_from_its_last_checkpoint_and_logs_each_step_once(self):
        process = self.start("training.steps=1000000", "checkpoint.interval=20", "checkpoint.keep=2")
        self.wait_for(process, "saved checkpoint")
        self.wait_for(process, "saved checkpoint")
        process.kill()
        process.wait()
        last = self.checkpoints()[-1]
        self.train(f"training.steps={last + 3}", "schedule.warmup_steps=1")
        self.assertEqual(self.logged_steps(), list(range(1, last + 4)))

    def test_a_full_disk_fails_the_save_but_not_the_run_and_keeps_the_older_checkpoint(self):
        self.train()
        self.assertEqual(self.checkpoints(), [10])
        log = self.train("training.steps=14", "logging.json=false", code=1, preexec_fn=small_files_only)
        self.assertIn("step 14/14", log)
        self.assertIn("saving step 14 failed", log)
        self.assertEqual(self.checkpoints(), [10])
        self.run_program("checkpoint", "verify", "run")

    def test_a_damaged_checkpoint_is_named_and_the_older_one_is_taken(self):
        self.train("checkpoint.interval=5")
        self.assertEqual(self.checkpoints(), [5, 10])
        chunk, = glob.glob(os.path.join(self.folder, "run/checkpoints/10/state/params/embedding/table/c.0.0"))
        with open(chunk, "r+b") as file:
            first = file.read(1)[0]
            file.seek(0)
            file.write(bytes([first ^ 1]))
        verified = self.run_program("checkpoint", "verify", "run", code=1)
        self.assertIn("step 5: good\nstep 10: damaged\n", verified.stdout)
        self.assertIn("params.embedding.table", verified.stdout)
        log = self.train("training.steps=12")
        self.assertIn("params.embedding.table", log)
        self.assertIn("at step 5", log)
        self.assertEqual(self.logged_steps(), list(range(1, 13)))

    def test_a_mesh_that_does_not_fit_the_devices_is_wrong_usage(self):
        log = self.train("mesh.data=3", code=2)
        self.assertIn("needs a multiple of 3 devices, and there are 2", log)

    def test_a_vocabulary_that_does_not_fit_the_model_fails_before_devices_are_opened(self):
        log = self.train("model.vocab_size=100", code=1)
        self.assertIn("model.vocab_size is 100, but the tokenizer of tokens has 259 tokens", log)
        self.assertNotIn("compiled", log)

    def test_a_missing_corpus_is_named(self):
        log = self.train("data.corpus=[nowhere.txt]", code=1)
        self.assertIn("nowhere.txt", log)

    def test_a_wrong_key_exits_with_two_and_names_its_line(self):
        self.write("recipe.yaml", RECIPE + "checkpint: {}\n")
        done = self.run_program("train", "recipe.yaml", code=2)
        self.assertEqual(done.stderr, "tessera train: recipe.yaml:8: there is no key checkpint; the nearest is checkpoint\n")

    def test_the_printed_config_is_a_recipe_of_the_same_run(self):
        printed = self.run_program("train", "recipe.yaml", "training.seed=7", "--print-config").stdout
        self.write("again.yaml", printed)
        again = self.run_program("train", "again.yaml", "--print-config").stdout
        strip = lambda text: [line.split("  #")[0] for line in text.splitlines()]
        self.assertEqual(strip(printed), strip(again))
        self.assertIn("  seed: 7  # command line", printed)

    def test_text_is_generated_from_the_last_checkpoint(self):
        self.train()
        options = ["--prompt", "Document ", "--max-tokens", "8", "--seed", "3"]
        first = self.run_program("generate", "recipe.yaml", *options).stdout
        self.assertTrue(first.startswith("Document "), first)
        self.assertEqual(self.run_program("generate", "run/config.yaml", *options).stdout, first)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
