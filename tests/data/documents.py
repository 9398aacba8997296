"""Documents that a tokenizer may stumble over, made from a seed."""
import random

WORDS = ("the of and to in is that for it as was with be by on not he his but at are this have from or had an they which "
         "don't I'LL we've SHE'D you're it's o'clock 'tis Can'T 'S 'ſ naïve café Straße ﬁnal ŉ über Ünïcode word words").split()
SPACES = ["\t", "\n", "\v", "\f", "\r", "\r\n", " ", "  ", "\x85", "\xa0", "\u1680", "\u180e", "\u2000", "\u2003", "\u200b",
          "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\x1c", "\x1d", "\x1e", "\x1f"]
SPECIALS = ["<|endoftext|>", "<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|im_start|>", "<|im_end|>",
            "<tool_call>", "</tool_call>", "<|", "|>", "<|im_start", "<left>", "<right>", "<both>", "<|pad|>", "<|end|>",
            "cafe\u0301", "caf\u00e9", "\u65e5\u672c", "a\u0301x", "\u00e1x"]
EMOJI = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea",
         "1\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e007f"]
# Scripts and blocks, from where characters come in runs.
BLOCKS = [(0x20, 0x7e), (0xa0, 0x17f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff), (0x590, 0x5ff), (0x600, 0x6ff),
          (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff), (0x1e00, 0x1eff), (0x1f00, 0x1fff), (0x2070, 0x209f), (0x2150, 0x218f),
          (0x2190, 0x21ff), (0x2460, 0x24ff), (0x3040, 0x30ff), (0x3130, 0x318f), (0x4e00, 0x9fff), (0xac00, 0xd7a3),
          (0xf900, 0xfaff), (0xfb00, 0xfdff), (0xfe70, 0xfeff), (0xff00, 0xffef), (0x1d400, 0x1d7ff), (0x1f300, 0x1faff),
          (0x20000, 0x2a6df), (0x2ebf0, 0x2ee5d), (0x2f800, 0x2fa1f), (0x31350, 0x323af), (0x10d40, 0x10d8f), (0x11f00, 0x11f59),
          (0x0, 0x1f), (0x7f, 0x9f), (0xe000, 0xe0ff), (0x10ffff, 0x10ffff)]


def character(rng):
    while True:
        point = rng.randrange(0x110000)
        if not 0xd800 <= point < 0xe000:
            return chr(point)


def script(rng):
    low, high = rng.choice(BLOCKS)
    return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 12)))


def digits(rng):
    return "".join(rng.choice("0123456789٣४๕²½Ⅷ𝟗") if rng.random() < 0.1 else rng.choice("0123456789")
                   for _ in range(rng.randint(1, 15)))


def marks(rng):
    base = rng.choice("aeounAEO\u1100\u0928\uac00")
    return base + "".join(chr(rng.choice([0x300, 0x301, 0x302, 0x308, 0x30a, 0x316, 0x323, 0x327, 0x328, 0x93c, 0x1161, 0x11a8,
                                          0x898, 0x1df6, 0x11930])) for _ in range(rng.randint(1, 6)))


def run_of_one(rng):
    return rng.choice(["a", " ", "\n", "=", "0", "é", "日", "\u0301", "\U0001f600", "ab"]) * rng.choice([2, 3, 7, 31, 64, 300])


def word(rng):
    text = rng.choice(WORDS)
    return rng.choice([text, text.upper(), text.capitalize(), " " + text, text + rng.choice([".", ",", "!", "?!", ":", "'"])])


def letters(rng):
    """A word that no training text has."""
    return "".join(rng.choice("etaoinshrdlucmfwypvbgkqjxz") for _ in range(rng.randint(1, 90)))


PARTS = [(word, 40), (lambda rng: " ", 30), (script, 12), (digits, 6), (marks, 6), (run_of_one, 2), (letters, 4),
         (lambda rng: rng.choice(SPACES), 10), (lambda rng: rng.choice(SPECIALS), 5), (lambda rng: rng.choice(EMOJI), 4),
         (character, 6)]


def every_character():
    """All there are but surrogates, each between others of several kinds."""
    points = [point for point in range(0x110000) if not 0xd800 <= point < 0xe000]
    for begin in range(0, len(points), 256):
        yield "".join(f"a{chr(point)}1 {chr(point)}{chr(point)}\u0301!" for point in points[begin:begin + 256])


def documents(count, seed, texts):
    """Half of them mixed from everything above, some of random characters, the others real text with such things in it."""
    rng = random.Random(seed)
    makers, weights = zip(*PARTS)
    for i in range(count):
        if i % 10 == 0:
            yield "".join(character(rng) for _ in range(rng.randint(0, 60)))
        elif i % 2 == 0:
            yield "".join(make(rng) for make in rng.choices(makers, weights, k=rng.randint(1, 60)))
        else:
            text = rng.choice(texts)
            begin = rng.randrange(len(text))
            middle = "".join(make(rng) for make in rng.choices(makers, weights, k=rng.randint(0, 6)))
            yield text[begin:begin + rng.randint(1, 400)] + middle + text[begin + 400:begin + rng.randint(400, 800)]
