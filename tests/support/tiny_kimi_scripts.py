"""What the tiny Kimi says: scripts as token chains, and the chat template that picks one.

Every string is one token, every ``bytes`` item is one token per byte (a client then receives a
character in parts). A token has the same successor wherever it occurs, so a script never uses a
token of another script unless both go on alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

EOS = "<|im_end|>"
OPENING = "<|im_assistant|>assistant<|im_middle|>"
THINK, END_THINK = "<think>", "</think>"
CONTROLS = (  # in the order of Kimi's own vocabulary
    "[BOS]",
    "[EOS]",
    EOS,
    "<|im_user|>",
    "<|im_assistant|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "[EOT]",
    "<|im_system|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|im_middle|>",
)

Script = tuple[str | bytes, ...]

SCRIPTS: dict[str, Script] = {
    "hello": ("Somebody", " greets me,", " so I shall", " greet them", " back.", END_THINK),
    "hello_fast": ("Hello", " from the", " tiny model ", "🌙".encode(), "\nAll", " is well.", EOS),
    "chinese": ("好的".encode(), ",我是", "一个", "很小的", "模型。", EOS),
    "count": (*(f" {number}," for number in range(1, 201)), EOS),
    "forever": ("Round", " and", " round", " it", " goes,", "Round"),
    "ponder": ("Hmm,", " let me", " think again.", "\n", "Hmm,"),
    "code": ("Here you are:\n\n", "```python\n", "print(", "6 * 7", ")\n", "```\n", EOS),
    "markdown": (
        "## A tour\n\n",
        "Some **bold**",
        " and *slanted*",
        " words.\n\n",
        "- one\n",
        "- two\n\n",
        "| name | size |\n",
        "| --- | --- |\n",
        "| moon | small |\n\n",
        "The sum is",
        " $a^2 + b^2$",
        ".\n",
        EOS,
    ),
    "tool": (
        "I need",
        " the forecast.",
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>",
        "functions.get_weather:0",
        "<|tool_call_argument_begin|>",
        '{"city":',
        ' "Par',
        'is"',
        "}",
        "<|tool_call_end|>",
        "<|tool_calls_section_end|>",
        EOS,
    ),
    "result": ("It is", " 21 degrees", " in Paris.", EOS),
}
EXTRA_LINKS = ((END_THINK, "Hello"),)
"""After its reasoning, ``hello`` goes on with ``hello_fast``."""

TEMPLATE = """\
{%- set ns = namespace(text='', role='') -%}
{%- if tools -%}<|im_system|>tool_declare<|im_middle|>{{ tools | tojson }}<|im_end|>{%- endif -%}
{%- for message in messages -%}
  {%- if message.content is string -%}{%- set ns.text = message.content -%}
  {%- elif message.content -%}
    {%- set ns.text = message.content | map(attribute='text') | join(' ') -%}
  {%- else -%}{%- set ns.text = '' -%}
  {%- endif -%}
  {%- set ns.role = message.role -%}
  {%- if message.role == 'user' -%}<|im_user|>user<|im_middle|>{{ ns.text }}
  {%- elif message.role == 'assistant' -%}
    <|im_assistant|>assistant<|im_middle|><think></think>{{ ns.text }}
    {%- if message.tool_calls -%}<|tool_calls_section_begin|>
      {%- for call in message.tool_calls -%}
        <|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>
        {%- if call.function.arguments is string -%}{{ call.function.arguments }}
        {%- else -%}{{ call.function.arguments | tojson }}
        {%- endif -%}<|tool_call_end|>
      {%- endfor -%}<|tool_calls_section_end|>
    {%- endif -%}
  {%- elif message.role == 'tool' -%}<|im_system|>tool<|im_middle|>{{ ns.text }}
  {%- else -%}<|im_system|>{{ message.role }}<|im_middle|>{{ ns.text }}
  {%- endif -%}<|im_end|>
{%- endfor -%}
{%- set low = ns.text | lower -%}
{%- set fast = (thinking is defined and not thinking)
  or (enable_thinking is defined and not enable_thinking) -%}
{%- if ns.role == 'tool' -%}{%- set route = 'result' -%}
{%- elif tools and 'weather' in low -%}{%- set route = 'tool' -%}
{%- elif 'count' in low -%}{%- set route = 'count' -%}
{%- elif 'forever' in low -%}{%- set route = 'forever' -%}
{%- elif 'ponder' in low -%}{%- set route = 'ponder' -%}
{%- elif 'code' in low -%}{%- set route = 'code' -%}
{%- elif 'markdown' in low -%}{%- set route = 'markdown' -%}
{%- elif '你好' in low -%}{%- set route = 'chinese' -%}
{%- elif fast -%}{%- set route = 'hello_fast' -%}
{%- else -%}{%- set route = 'hello' -%}
{%- endif -%}
<|route_{{ route }}|>
{%- if add_generation_prompt -%}
  <|im_assistant|>assistant<|im_middle|><think>
  {%- if fast or route not in ['hello', 'ponder', 'tool'] -%}</think>{%- endif -%}
{%- endif -%}
"""


def route_tokens(name: str) -> tuple[str, str]:
    """The route of a script with the generation prompt behind it, as one token each.

    llama.cpp reads from the end of the prompt (opening plus ``<think>`` or ``<think></think>``)
    whether reasoning has begun and takes anything behind it for output: so the route stands
    before the opening, and one token holds both.
    """
    mark = f"<|route_{name}|>{OPENING}"
    return mark + THINK, mark + THINK + END_THINK


def said(name: str) -> str:
    """The visible text of a finite script: no control tokens, no think tags.

    ``said("hello")`` is its reasoning; what follows it is ``said("hello_fast")``.
    """
    return "".join(_visible(SCRIPTS[name]))


def _visible(script: Script) -> Iterator[str]:
    raw = b""
    for item in script:
        if isinstance(item, bytes):
            raw += item
        elif item not in CONTROLS and not re.fullmatch(r"</?think>", item):
            yield raw.decode() + item
            raw = b""
    yield raw.decode()
