"""Tokenizers of the families that tessera/data reads, trained with the `tokenizers` package on text that is there."""
import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + "?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
PUNCTUATION = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
               r""" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""")


def corpus(most_bytes=3_000_000):
    """The quickstart's text, as far as that many bytes."""
    cache = os.environ.get("TESSERA_CACHE") or os.path.join(os.environ["HOME"], ".cache/tessera")
    texts, size = [], 0
    for folder, folders, names in sorted(os.walk(os.path.join(cache, "corpus/python-docs"))):
        folders.sort()
        for name in sorted(names):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append(file.read())
            size += len(texts[-1])
            if size > most_bytes:
                return texts
    if not texts:
        raise SystemExit("no text to train on: run scripts/setup")
    return texts


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def byte_level(pattern):
    return pre_tokenizers.Sequence([split(pattern), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(tokenizer, texts, specials, vocab_size=8000):
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=specials, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def gpt2(texts, vocab_size=8000):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return train(tokenizer, texts, ["<|endoftext|>"], vocab_size)


def llama3(texts, vocab_size=8000):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = byte_level(LLAMA3)
    train(tokenizer, texts, [], vocab_size)
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
                                  "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)])])
    return tokenizer


def qwen2(texts, vocab_size=8000):
    tokenizer = Tokenizer(models.BPE(continuing_subword_prefix="", end_of_word_suffix=""))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = byte_level(QWEN2)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    train(tokenizer, texts, [], vocab_size)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
    return tokenizer


def copy(tokenizer):
    return Tokenizer.from_str(tokenizer.to_str())


def legacy_merges(tokenizer):
    """The same with merges as "left right", as files had them until 2024."""
    data = json.loads(tokenizer.to_str())
    data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    return json.dumps(data)


def variants(base):
    """What other models of these families do otherwise: by name, tokenizers that share `base`'s vocabulary."""
    def made(change):
        tokenizer = copy(base)
        change(tokenizer)
        return tokenizer

    def steps(*parts):
        def change(tokenizer):
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
                [*parts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        return change

    def prefix_space(tokenizer):
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)

    def added(tokenizer):
        tokenizer.normalizer = normalizers.NFC()
        tokenizer.add_tokens([AddedToken("<left>", lstrip=True), AddedToken("<right>", rstrip=True, normalized=False),
                              AddedToken("<both>", lstrip=True, rstrip=True), AddedToken("word", single_word=True),
                              AddedToken("caf\u0065\u0301"), AddedToken("<left><both>"), AddedToken("  "),
                              AddedToken("\u65e5\u672c", normalized=False), AddedToken("a\u0301x", normalized=False)])
        tokenizer.add_special_tokens([AddedToken("<|pad|>", lstrip=True, rstrip=True), "<|end|>"])

    def normal(*forms):
        def change(tokenizer):
            tokenizer.normalizer = normalizers.Sequence(list(forms)) if len(forms) > 1 else forms[0]
        return change

    changes = {
        "gpt4o": steps(split(GPT4O)), "punctuation": steps(split(PUNCTUATION)), "prefix_space": prefix_space,
        "digits": steps(pre_tokenizers.Digits(individual_digits=True), split(LLAMA3)),
        "digit_runs": steps(pre_tokenizers.Digits(individual_digits=False)),
        "removed": steps(split(r"\s+", "removed")), "previous": steps(split(r"[\s\p{P}]", "merged_with_previous")),
        "next": steps(split(r"[\s\p{P}]", "merged_with_next")), "contiguous": steps(split(r"[\s\p{P}]", "contiguous")),
        "inverted": steps(split(r"\p{L}+|\p{N}{2}", "removed", invert=True)),
        "text": steps(pre_tokenizers.Split("\\E e", "merged_with_next"), pre_tokenizers.Split("  ", "isolated")),
        "han": steps(split(r"\p{Han}+"), split(LLAMA3)), "added": added,
        "nfd": normal(normalizers.NFD()), "nfkc": normal(normalizers.NFKC()), "nfkd": normal(normalizers.NFKD()),
        "nfkd_nfc": normal(normalizers.NFKD(), normalizers.NFC()),
    }
    return {name: made(change) for name, change in changes.items()}
