#!/usr/bin/env python3
"""Writes Parquet files with pyarrow in several ways, and compares what our reader finds in them.

usage: read_parquet.py LIST_DOCUMENTS
"""
import json
import os
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = [f"document {i}: \u65e5\u672c \U0001f600 \"quoted\" \\ back\n\t\x01" * (i % 5) for i in range(1000)]
TEXTS[17] = TEXTS[500] = None
CHATS = [[{"role": "user", "content": f"question {i} \"\\\n\x02", "weight": i, "seen": i % 2 == 0},
          {"role": "assistant", "content": f"answer {i} \u00e9", "weight": None, "seen": None}] for i in range(300)]
CHATS[3] = None
CHATS[4] = []
CHATS[5] = [{"role": "user", "content": None, "weight": 1, "seen": True}]
FAILURES = []


def check(name, condition, found=None):
    print(f"{name}: {'passed' if condition else f'FAILED, found {found!r}'}")
    if not condition:
        FAILURES.append(name)


def listed(program, key, path):
    done = subprocess.run([program, key, path], capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows, done.returncode, done.stderr.strip()


def check_texts(program, path, name, column, **options):
    pq.write_table(pa.table({"id": list(range(len(TEXTS))), "text": column}), path, **options)
    rows, code, error = listed(program, "text", path)
    expected = [[f"{path}:row {i + 1}", "bad: null" if text is None else text] for i, text in enumerate(TEXTS)]
    wrong = [pair for pair in zip(rows, expected) if pair[0] != pair[1]]
    check(name, code == 0 and len(rows) == len(expected) and not wrong, error or wrong[:1] or len(rows))


def check_chats(program, path, name, column, **options):
    pq.write_table(pa.table({"messages": column}), path, **options)
    rows, code, error = listed(program, "messages", path)
    texts = [text for _, text in rows]
    expected = ["".join("US A"[0 if m["role"] == "user" else 3] + m["content"] for m in chat) if chat and i != 5 else None
                for i, chat in enumerate(CHATS)]
    expected[3], expected[4], expected[5] = "bad: null", "", "bad: no conversation"
    wrong = [pair for pair in zip(texts, expected) if pair[0] != pair[1]]
    check(name, code == 0 and len(texts) == len(expected) and not wrong, error or wrong[:1] or len(rows))


def check_error(program, path, name, table, key, *words):
    pq.write_table(table, path)
    _, code, error = listed(program, key, path)
    check(name, code == 1 and all(word in error for word in (path, *words)), error)


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.parquet")
        check_texts(program, path, "strings", pa.array(TEXTS))
        check_texts(program, path, "small row groups, zstd", pa.array(TEXTS), row_group_size=97, compression="zstd")
        check_texts(program, path, "large strings, gzip", pa.array(TEXTS, pa.large_string()), compression="gzip")
        check_texts(program, path, "string views", pa.array(TEXTS, pa.string_view()))
        check_texts(program, path, "a dictionary", pa.array(TEXTS).dictionary_encode())
        check_texts(program, path, "pages of version 2", pa.array(TEXTS), data_page_version="2.0", data_page_size=1000)
        check_chats(program, path, "conversations", pa.array(CHATS), row_group_size=50)
        large = pa.large_list(pa.array(CHATS).type.value_type)
        check_chats(program, path, "conversations in a large list", pa.array(CHATS, large))
        as_text = [None if chat is None else json.dumps(chat) for chat in CHATS]
        check_chats(program, path, "conversations as text", pa.array(as_text))
        check_error(program, path, "no such column", pa.table({"body": ["x"]}), "text", '"text"', "body")
        check_error(program, path, "no text", pa.table({"text": [1]}), "text", "int64")
        check_error(program, path, "no conversations", pa.table({"messages": [1.5]}), "messages", "double")
        with open(path, "wb") as file:
            file.write(b"not Parquet")
        _, code, error = listed(program, "text", path)
        check("no Parquet", code == 1 and path in error, error)
        rows, code, error = listed(program, "text", folder)
        check("a folder means its Parquet files", code == 1 and path in error, error)
    print(f"read_parquet: {14 - len(FAILURES)} passed, {len(FAILURES)} failed")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
