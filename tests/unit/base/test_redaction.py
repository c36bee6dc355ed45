"""What leaves the computer has no keys, names or addresses; what a diagnosis needs stays."""

from __future__ import annotations

import pytest

from kimi_desktop.base.redaction import redact

PRIVATE = [
    ("HF_TOKEN=hf_AbCdEfGhIjKlMnOpQr", "AbCdEf"),
    ("OPENAI key sk-proj-Abcdefgh12345", "Abcdefgh"),
    ("Authorization: Bearer PLANTED", "PLANTED"),
    ('{"Authorization": "Bearer PLANTED"}', "PLANTED"),
    ('{"authorization": "PLANTED"}', "PLANTED"),
    ("Authorization: Basic dXNlcjpQTEFO", "dXNlcj"),
    ("Authorization:\n  Bearer PLANTED", "PLANTED"),
    ("--api-key PLANTED", "PLANTED"),
    ("--hf-token PLANTED", "PLANTED"),
    ('{"api_key": "PLANTED"}', "PLANTED"),
    ("Namespace(api_key='PLANTED', port=8)", "PLANTED"),
    ("non-default args: {'api_key': ['a', 'PLANTED'], 'hf_token': 'x'}", "PLANTED"),
    ("args: ['--api-key', 'PLANTED']", "PLANTED"),
    ("x-api-key: PLANTED", "PLANTED"),
    ("VLLM_API_KEY=PLANTED", "PLANTED"),
    ('"token": "PLANTED", "password": "PLANTED"', "PLANTED"),
    ("http://bob:PLANTED@proxy.corp:3128", "PLANTED"),
    ("Cookie: session=PLANTED", "PLANTED"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7"),
    ("AWS_SECRET_ACCESS_KEY=PLANTED", "PLANTED"),
    ("-----BEGIN PRIVATE KEY-----\nPLANTED\n-----END PRIVATE KEY-----", "PLANTED"),
    ("MODELSCOPE_SDK_TOKEN 'abcd1234-5678-90ab-cdef-1234567890ab'", "abcd1234"),
    ("https://cdn/x?X-Amz-Signature=abc123def&Policy=PLANTED", "PLANTED"),
    ("glpat-PLANTED12345", "PLANTED"),
    ("prompt: 'My name is Chen', params", "Chen"),
    ("/home/zhangwei/models/k.gguf", "zhangwei"),
    ("/home/li hua/m/k.gguf", "hua"),
    ("/Users/Li Hua/m", "Hua"),
    ("C:\\Users\\Zhang Wei\\models\\k.gguf", "Wei"),
    ("C:\\Users\\张伟\\模型\\k.gguf", "张伟"),
    ('"C:\\\\Users\\\\lihua\\\\m"', "lihua"),
    ("\\\\SERVER\\Users\\liming\\k.gguf", "liming"),
    ("/mnt/c/Users/liming/k.gguf", "liming"),
    ("/run/media/lihua/Disk/m.gguf", "lihua"),
    ("USER=lihua", "lihua"),
    ("DESKTOP-AB12CD\\lihua", "lihua"),
    ("git config zhang.wei@example.com", "zhang.wei"),
    ("listening on 192.168.17.42:8080", "192.168"),
    ("client 2001:db8:1:2::7", "2001:db8"),
    ("aa:bb:cc:dd:ee:0f", "aa:bb"),
    ("Incorrect API key provided: PLANTED", "PLANTED"),
    ("api_key=('PLANTED',)", "PLANTED"),
    ("api_key={'PLANTED'}", "PLANTED"),
    ("api_key=SecretStr('PLANTED')", "PLANTED"),
    ("api_key=b'PLANTED'", "PLANTED"),
    ("api_key='''PLANTED'''", "PLANTED"),
    ('{"body": "{\\"api_key\\": \\"PLANTED\\"}"}', "PLANTED"),
    ("api_key=[\n  'a',\n  'PLANTED'\n]", "PLANTED"),
    ("Cookie: theme=dark; session=PLANTED", "PLANTED"),
    ("- name: HF_TOKEN\n  value: PLANTED", "PLANTED"),
    ("密钥：PLANTED", "PLANTED"),
    ("密码=PLANTED", "PLANTED"),
    ("GITHUB_PAT=PLANTED", "PLANTED"),
    ("http://1.2.3.4:8080/v1", "1.2.3.4"),
    ("fe80::1ff:fe23:4567:890a", "fe80"),
    ("zoe@box:~$ ls", "zoe"),
    ("SLURM_JOB_USER=zoe", "zoe"),
    ("/Volumes/Zoes Disk/m.gguf", "Zoes"),
    ("GPU-8f6c1a2b-1111-2222-3333-444455556666", "8f6c1a2b"),
]


@pytest.mark.parametrize(("text", "secret"), PRIVATE)
def test_what_is_private_goes(text: str, secret: str) -> None:
    assert secret not in redact(f"before {text}\nafter")
    assert redact(f"before {text}\nafter").endswith("after")


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=4096 n_tokens = 12, tokens: 33, token_id: 5, 'eos_token': '<|im_end|>'",
        "special tokens cache size = 256, tokenizer=/models/x --tokenizer-mode auto",
        "main: server is listening on 127.0.0.1:8080 and 0.0.0.0:80",
        "CUDA driver version 580.95.05, cuDNN version 12.8.0.38, llama.cpp b11434, 1.2.3.4",
        "ggml_cuda: out of memory: allocating 9000.00 MiB on device 0",
        "api_key=None, hf_token: null, Bearer realm=x",
        "0x00007ffd8f6c1a2b at ggml-cuda.cu:88",
    ],
)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert redact(text, home="/nobody", user="nobody-here") == text


@pytest.mark.parametrize("word", ["a", "x_", "1:", "::", "token "])
def test_long_words_end(word: str) -> None:
    """Half a megabyte: a pattern that looks again from every letter would take minutes."""
    assert redact(word * (500_000 // len(word)), home="/nobody", user="nobody-here")


def test_ones_own_name_goes_wherever_it_stands() -> None:
    text = "by zhangwei in /data/zhangwei and /srv/home/k.gguf"
    assert (
        redact(text, home="/srv/home", user="zhangwei") == "by <user> in /data/<user> and ~/k.gguf"
    )
