"""The lines that people copy to try the endpoint; the tests run them as they are shown. Pure."""

from __future__ import annotations

import json

QUESTION = "Say hello."
CERTIFICATE = "kimi-desktop.pem"
"""What people save the gateway's certificate as, in the folder where the lines run."""


def curl_line(url: str, api_key: str, model: str) -> str:
    """For bash and zsh: a streamed answer.

    Args:
        url: http://127.0.0.1:8080/v1
        api_key: The client key.
        model: As /v1/models names it.
    """
    body = json.dumps(
        {"model": model, "stream": True, "messages": [{"role": "user", "content": QUESTION}]},
        ensure_ascii=False,
    )
    trusted = f"  --cacert {CERTIFICATE} \\\n" if _encrypted(url) else ""
    return (
        f"curl --no-buffer {url}/chat/completions \\\n"
        f"{trusted}"
        f"  -H {_quoted(f'Authorization: Bearer {api_key}')} \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {_quoted(body)}"
    )


def python_lines(url: str, api_key: str, model: str) -> str:
    """For any Python 3, without a package to install: one answer, printed."""
    imports = "import json\n" + ("import ssl\n" if _encrypted(url) else "")
    trusted = f", context=ssl.create_default_context(cafile={CERTIFICATE!r})"
    return f"""\
{imports}import urllib.request

request = urllib.request.Request(
    {url + "/chat/completions"!r},
    json.dumps({{
        "model": {model!r},
        "messages": [{{"role": "user", "content": {QUESTION!r}}}],
    }}).encode(),
    {{"Authorization": {"Bearer " + api_key!r}, "Content-Type": "application/json"}},
)
with urllib.request.urlopen(request{trusted if _encrypted(url) else ""}) as response:
    print(json.load(response)["choices"][0]["message"]["content"])
"""


def openai_lines(url: str, api_key: str, model: str) -> str:
    """For the openai package (``pip install openai``): a streamed answer."""
    imports, trusted = "", ""
    if _encrypted(url):
        imports = "import ssl\n\nimport httpx\n"
        context = f"ssl.create_default_context(cafile={CERTIFICATE!r})"
        trusted = f", http_client=httpx.Client(verify={context})"
    return f"""\
{imports}from openai import OpenAI

client = OpenAI(base_url={url!r}, api_key={api_key!r}{trusted})
stream = client.chat.completions.create(
    model={model!r},
    messages=[{{"role": "user", "content": {QUESTION!r}}}],
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)
"""


def _encrypted(url: str) -> bool:
    return url.startswith("https:")


def _quoted(text: str) -> str:
    """In single quotes for a POSIX shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"
