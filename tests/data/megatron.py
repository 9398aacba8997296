#!/usr/bin/env python3
"""Reads what `tessera data export-megatron` writes, and writes what `import-megatron` reads, by the format alone.

usage: megatron.py TESSERA
"""
import array
import os
import struct
import subprocess
import sys
import tempfile

MAGIC = b"MMIDIDX\x00\x00"
CODES = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "H"}  # array's names of the types


def read(prefix):
    """The documents, each a list of sequences, each a list of tokens; and the type's code."""
    with open(prefix + ".idx", "rb") as file:
        index = file.read()
    assert index[:9] == MAGIC, index[:9]
    version, code, sequences, bounds = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1, version
    lengths = struct.unpack_from(f"<{sequences}i", index, 34)
    pointers = struct.unpack_from(f"<{sequences}q", index, 34 + 4 * sequences)
    documents = struct.unpack_from(f"<{bounds}q", index, 34 + 12 * sequences)
    assert len(index) == 34 + 12 * sequences + 8 * bounds, len(index)
    with open(prefix + ".bin", "rb") as file:
        data = file.read()
    size = array.array(CODES[code]).itemsize
    assert sum(lengths) * size == len(data)
    found = [list(array.array(CODES[code], data[at:at + length * size])) for at, length in zip(pointers, lengths)]
    return [found[begin:end] for begin, end in zip(documents, documents[1:])], code


def write(prefix, documents, code):
    sequences = [sequence for document in documents for sequence in document]
    size, at, pointers, bounds = array.array(CODES[code]).itemsize, 0, [], [0]
    with open(prefix + ".bin", "wb") as file:
        for sequence in sequences:
            file.write(array.array(CODES[code], sequence).tobytes())
            pointers.append(at)
            at += len(sequence) * size
    for document in documents:
        bounds.append(bounds[-1] + len(document))
    with open(prefix + ".idx", "wb") as file:
        file.write(MAGIC + struct.pack("<QBQQ", 1, code, len(sequences), len(bounds)))
        file.write(struct.pack(f"<{len(sequences)}i", *map(len, sequences)) + struct.pack(f"<{len(sequences)}q", *pointers))
        file.write(struct.pack(f"<{len(bounds)}q", *bounds))


def main(tessera):
    def run(*arguments):
        return subprocess.run([tessera, "data", *arguments], check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        texts = ["A first text.", "\u65e5\u672c", "last"]
        for i, text in enumerate(texts):
            with open(f"{i}.txt", "w", encoding="utf-8") as file:
                file.write(text)
        run("build", "--output", "store", "--tokenizer", "bytes", "0.txt", "1.txt", "2.txt")
        run("export-megatron", "store", "exported")
        documents, code = read("exported")
        expected = [[[256, *text.encode(), 257]] for text in texts]
        assert documents == expected and code == 8, (documents, code)
        for code in CODES:
            wide = code in (3, 4, 5, 8)
            made = [[[256] if wide else [65], [72, 105]], [], [[33, 257] if wide else [33, 34], [66, 257] if wide else [66]]]
            write("made", made, code)
            run("import-megatron", "made", "--output", "imported", "--tokenizer", "bytes", "--overwrite")
            run("export-megatron", "imported", "again", "--overwrite")
            joined = [[sum(document, [])] for document in made if document]
            assert read("again")[0] == joined, (code, read("again"))
    print(f"megatron: {1 + len(CODES)} passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
