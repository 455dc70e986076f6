"""Decoding source files in many encodings: long files, late accents, a few words, binary data."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.worktree.decode import decode, is_binary

CODE = "int connect(const char *host, int port)\n{\n    return open_socket(host, port);\n}\n\n"

COMMENTS = {
    "zh": [
        "// 连接数据库",
        "# 配置文件 解析 错误",
        "/* 返回用户名称 */ // 如果为空",
        "// 线程池 //销毁",
        'print("你好，世界")',
        "// 排序算法 冒泡 快速",
        "// 作者：张伟",
        "/* 计算斐波那契数列 */",
        "// 矩阵乘法",
        "// 树的遍历",
    ],
    "zh-tw": [
        "// 連接資料庫",
        "# 設定檔案 解析 錯誤",
        'print("你好，世界")',
        "// 計算總和",
        "// 排序演算法 快速",
        "// 矩陣乘法",
        "// 樹的走訪 節點 左邊",
    ],
    "ja": [
        "// データベースに接続する",
        "# 設定 ファイル 解析",
        "// 接続 // 設定 //名前",
        "// 行列の積",
        "// 並び替え",
        "// 木構造 探索",
        "/* 引数が無効な場合はエラーを返します */",
    ],
    "ko": [
        "// 데이터베이스 연결",
        "# 설정 파일 분석",
        "// 정렬 알고리즘",
        "// 사용자 이름을 반환한다",
        "/* 잘못된 입력이면 오류 */",
    ],
    "ru": [
        "// подключение к базе данных",
        "# разбор файл ошибка",
        "// Ошибка: файл не найден",
        "// TODO: исправить",
        "/* ВНИМАНИЕ: не менять */",
    ],
    "de": [
        "# Größe ändern für Müller",
        "// Größe",
        "// © 2004 Jürgen Möller",
        "/* Schlüssel löschen, falls ungültig */",
    ],
    "fr": ["// déjà été créé", "# “quoted” — naïve café", "// vérifie la chaîne à l’entrée", "# François"],
    "es": ["// año español señor", "// función: devuelve el tamaño máximo", "# ação não coração", "# øre på ål"],
}
ENCODED = {
    "gb18030": "zh",
    "gbk": "zh",
    "big5": "zh-tw",
    "shift_jis": "ja",
    "euc_jp": "ja",
    "euc_kr": "ko",
    "koi8-r": "ru",
    "cp1251": "ru",
    "cp1252": "de fr es",
}
ROWS = [(codec, text) for codec, names in ENCODED.items() for name in names.split() for text in COMMENTS[name]]
LATIN = [
    text
    for text in COMMENTS["de"] + COMMENTS["fr"] + COMMENTS["es"]
    if text.isprintable() and not set(text) & set("“”—’")
]


def assert_text(raw: bytes, text: str) -> None:
    found = decode(raw, 0.7)
    assert found is not None
    assert found.text == text, found.encoding
    assert found.text.encode(found.encoding) == raw[found.bom :]
    assert not is_binary(raw)


@pytest.mark.parametrize(("codec", "comment"), ROWS)
def test_a_few_words_in_a_short_file_reveal_its_encoding(codec: str, comment: str) -> None:
    text = f"{comment}\n{CODE}"
    assert_text(text.encode(codec), text)


@pytest.mark.parametrize("codec", ENCODED)
def test_many_comments_reveal_the_encoding_of_a_file(codec: str) -> None:
    comments = [text for name in ENCODED[codec].split() for text in COMMENTS[name]]
    text = "\r\n".join(f"{comment}\r\n{CODE}" for comment in comments * 5)
    assert_text(text.encode(codec), text)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [*ENCODED, "latin-1"])
def test_accents_after_300_kilobytes_are_found(codec: str) -> None:
    comments = LATIN if codec == "latin-1" else [t for name in ENCODED[codec].split() for t in COMMENTS[name]]
    text = CODE * 4000 + "\n".join(comments) + "\n"
    assert len(text) > 300_000
    assert_text(text.encode(codec), text)


@pytest.mark.parametrize("comment", LATIN)
def test_western_text_is_recognised(comment: str) -> None:
    assert_text(comment.encode("latin-1"), comment)


CENTRAL = {
    "iso8859-2": "// Połączenie z bazą danych zostało zamknięte, więc nie można zapisać pliku źródłowego\n",
    "cp1250": "// Žádný soubor nebyl nalezen, zkontrolujte prosím nastavení připojení k databázi a cestu\n",
    "iso8859-7": "// Το αρχείο δεν βρέθηκε, ελέγξτε τις ρυθμίσεις της σύνδεσης με τη βάση δεδομένων\n",
}


@pytest.mark.parametrize("codec", CENTRAL)
def test_longer_texts_of_other_languages_are_recognised(codec: str) -> None:
    text = (CENTRAL[codec] + CODE) * 20
    assert_text(text.encode(codec), text)


def test_a_single_sign_counts_as_western() -> None:
    found = decode("// © 2004, 20°\n".encode("cp1252"), 0.7)
    assert found and found.encoding == "cp1252"


EVERY = "".join(f"{text}\n{CODE}" for texts in COMMENTS.values() for text in texts)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_decides(codec: str) -> None:
    raw = ("\ufeff" + EVERY).encode(codec)
    found = decode(raw, 0.7)
    assert found and (found.text, found.encoding, found.confidence) == (EVERY, codec, 1.0)
    assert found.bom == len("\ufeff".encode(codec))


@pytest.mark.parametrize("text", [EVERY, CODE, "x = 1\n", *(f"{t}\n" for texts in COMMENTS.values() for t in texts)])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be"])
def test_utf16_is_recognised_without_a_mark(codec: str, text: str) -> None:
    found = decode(text.encode(codec), 0.7)
    assert found and found.text == text and found.bom == 0
    assert found.encoding == codec


def test_empty_is_text() -> None:
    found = decode(b"", 0.7)
    assert found and (found.text, found.encoding, found.confidence, found.bom) == ("", "utf-8", 1.0, 0)


def test_broken_utf8_keeps_its_bytes() -> None:
    raw = "naïve".encode() + b"\xff\x81 // x\n"
    found = decode(raw, 0.7)
    assert found and found.text.encode(found.encoding) == raw


def test_late_nul_does_not_make_a_source_binary() -> None:
    assert decode(CODE.encode() * 200 + b"\0\n", 0.7) is not None
    assert decode(b"\0" + CODE.encode() * 200, 0.7) is None


@pytest.mark.parametrize("seed", range(20))
def test_noise_and_tables_are_binary(seed: int) -> None:
    noise = random.Random(seed)
    assert decode(noise.randbytes(3000), 0.7) is None
    assert decode(bytes(noise.choice(range(1, 256)) for _ in range(3000)), 0.7) is None
    assert decode(b"".join(noise.randrange(0, 400).to_bytes(2, "little") for _ in range(2000)), 0.7) is None
    assert decode(b"".join(noise.randrange(0, 9000).to_bytes(4, "big") for _ in range(1000)), 0.7) is None


@given(st.binary(max_size=300))
def test_any_bytes_come_back_or_are_binary(raw: bytes) -> None:
    found = decode(raw, 0.7)
    assert (found is None) == is_binary(raw)
    if found:
        assert found.text.encode(found.encoding) == raw[found.bom :]
        assert 0.0 <= found.confidence <= 1.0


@given(st.text(max_size=200))
def test_utf8_is_always_recognised(text: str) -> None:
    found = decode(text.encode(), 0.7)
    if "\0" not in text and not text.startswith("\ufeff"):
        assert found and (found.text, found.encoding, found.confidence) == (text, "utf-8", 1.0)
