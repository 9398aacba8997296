#!/usr/bin/env python3
"""Compares our token ids and decoded texts with those of the `tokenizers` package, document by document.

usage: compare_tokenizers.py ENCODE_DOCUMENTS [DOCUMENTS [SEED]]
"""
import json
import os
import subprocess
import sys
import tempfile

import documents
import families


def ours(program, model, lines, folder):
    path, encoded, decoded = (os.path.join(folder, name) for name in ("tokenizer.json", "encoded", "decoded"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(model)
    subprocess.run([program, "huggingface", path, encoded, decoded], input=lines, check=True)
    with open(encoded, encoding="utf-8") as file:
        ids = [json.loads(line) for line in file]
    with open(decoded, encoding="utf-8") as file:
        return ids, [json.loads(line) for line in file]


def compare(name, tokenizer, model, texts, program):
    """Prints the first differences; returns whether there are none."""
    lines = "".join(json.dumps(text) + "\n" for text in texts).encode()
    with tempfile.TemporaryDirectory() as folder:
        ids, decoded = ours(program, model, lines, folder)
    expected = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    expected_texts = [tokenizer.decode(one) for one in expected]
    if len(ids) != len(texts) or len(decoded) != len(texts):
        print(f"{name}: {len(ids)} of {len(texts)} documents came back")
        return False
    different = [i for i in range(len(texts)) if ids[i] != expected[i] or decoded[i] != expected_texts[i]]
    for i in different[:3]:
        at = next((k for k, pair in enumerate(zip(ids[i], expected[i])) if pair[0] != pair[1]), None)
        print(f"{name}: document {i} {texts[i][:200]!r}\n  from token {at}\n  ours   {ids[i][at or 0:][:12]} {decoded[i][:80]!r}"
              f"\n  theirs {expected[i][at or 0:][:12]} {expected_texts[i][:80]!r}")
    print(f"{name}: {len(texts)} documents, {sum(map(len, expected))} tokens, {len(different)} different")
    return not different


def main(arguments):
    program, count, seed = arguments[0], int((arguments + ["", ""])[1] or 10_000), int((arguments + ["", "", ""])[2] or 1)
    texts = families.corpus()
    docs = list(documents.documents(count, seed, texts))
    gpt2, llama3, qwen2 = families.gpt2(texts), families.llama3(texts), families.qwen2(texts)
    cases = [("gpt2", gpt2, families.legacy_merges(gpt2)), ("llama3", llama3, llama3.to_str()), ("qwen2", qwen2, qwen2.to_str())]
    results = [compare(name, tokenizer, model, docs, program) for name, tokenizer, model in cases]
    every = list(documents.every_character())
    results += [compare(name + ", every character", tokenizer, model, every, program) for name, tokenizer, model in cases[1:]]
    few = docs[:max(1, count // 5)]
    results += [compare(name, variant, variant.to_str(), few, program) for name, variant in families.variants(gpt2).items()]
    print(f"compare_tokenizers: {sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
