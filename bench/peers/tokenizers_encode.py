"""The peer of bench_tokenize: trains a tokenizer, encodes the quickstart's text with one core.

usage: tokenizers_encode.py FAMILY VOCAB_SIZE PASSES TOKENIZER_JSON
"""
import json
import os
import resource
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
here = os.path.dirname(os.path.abspath(__file__))
sys.path.remove(here)  # else the standard library would find this file as its own module
sys.path.insert(0, os.path.join(here, "../../tests/data"))
import families  # noqa: E402


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(family, vocab_size, passes, path):
    trained = getattr(families, family)(families.corpus(), int(vocab_size))
    trained.save(path)
    texts = families.corpus(1 << 40)
    begin = cpu_seconds()
    tokenizer = families.Tokenizer.from_file(path)
    load = cpu_seconds() - begin
    seconds = []
    for _ in range(int(passes)):
        begin = cpu_seconds()
        tokens = 0
        for text in texts:  # one by one, so that what was encoded is not all held at once
            tokens += len(tokenizer.encode_batch_fast([text], add_special_tokens=False)[0])
        seconds.append(cpu_seconds() - begin)
    size = sum(len(text.encode()) for text in texts)
    median = sorted(seconds)[len(seconds) // 2]
    import tokenizers
    print(json.dumps({"bench": "tokenize", "peer": "tokenizers " + tokenizers.__version__, "family": family,
                      "vocab_size": tokenizer.get_vocab_size(), "mb_per_s_per_core": size / median / 1e6,
                      "mb_per_s_first_pass": size / seconds[0] / 1e6, "load_s": load, "bytes": size, "tokens": tokens,
                      "passes": int(passes)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
