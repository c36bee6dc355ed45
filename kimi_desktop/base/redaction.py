"""Removes what is private from text that leaves the computer. Pure but for the user's own names.

The text comes from programs of others: command lines, environments, dictionaries of Python and
JSON, headers, paths of three systems. A word too many removed costs a hint; a key that stays costs
the key.
"""

from __future__ import annotations

import getpass
import re
from pathlib import Path

REMOVED = "<removed>"
_SECRET_NAME = (
    r"(?:(?:api[-_ ]?key|access[-_]?key|secret[-_]?key|private[-_]?key|secret"
    r"|(?<!eos_)(?<!bos_)(?<!pad_)(?<!unk_)(?<!sep_)(?<!eot_)(?<!eom_)(?<!mask_)token"
    r"|passw(?:or)?d|passphrase|credentials?|cookie|authorization|signature|key-pair-id"
    r"|(?:github|gitlab|azure)[-_]?pat|密钥|密码|口令|令牌"
    r"|(?<=[?&])policy|session[-_]?id)(?:s|[-_]?\d+)?(?!\w))"
)
_QUOTED = r"(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_WRAPPED = (
    r"(?:(?:\w+)?\(\s*[bru]?[\"'][^)]{0,400}\)|\{\s*[\"'][^\"'}\n]*[\"']\s*\}"
    r"|[bru]?'''[^']*''')"
)
"""``SecretStr('K')``, ``('K',)``, ``{'K'}``, a long string."""
_ESCAPED = r"\\+\"[^\"\\\n]*\\+\""
_VALUE = rf"(?:\[[^\]]{{0,2000}}\]|{_WRAPPED}|{_ESCAPED}|[bru]?{_QUOTED}|[^\s,;&\"'\])}}]+)"
_GAP = r"(?:\\*[\"']?\]?\s*(?:=>|[=:：])\s*(?:\n\s*)?|[\"']\s*,\s*)"
"""Between a name and its value: ``=``, ``:``, the end of a quoted key, or the next of a list."""
_HARMLESS = re.compile(
    r"(?i)(?:none|null|true|false|auto|\d{1,9}(?:\.\d+)?(?:[kmg]i?b?)?|<\w+>|\*+|unset|n/?a|[\"']{2})"
)
"""Counts of tokens, and settings that are not set."""
_SCHEME = re.compile(rf"(?i)\b(bearer|basic|digest|negotiate)\s+(?!realm){_VALUE}")
_NAME = re.compile(rf"(?i){_SECRET_NAME}$")
_NAMED = re.compile(rf"(?i)({_SECRET_NAME}{_GAP})({_VALUE})")
_FLAG = re.compile(rf"(?i)(--?[\w-]{{0,40}}?{_SECRET_NAME}\s+)(?!-)({_VALUE})")
_COOKIE = re.compile(r"(?i)(\b(?:set-)?cookie\s*[=:]\s*)[^\n\"']+")
"""One header holds many."""
_LISTED = re.compile(rf"(?i)(\bname:\s*[\"']?\w*{_SECRET_NAME}[\"']?\s*\n\s*value:\s*)({_VALUE})")
"""A variable in the description of a container."""
_PROVIDED = re.compile(rf"(?i)({_SECRET_NAME} (?:provided|given|used|was|is):? )({_VALUE})")
_SPOKEN = re.compile(rf"(?i)({_SECRET_NAME} )({_QUOTED}|(?=[\w-]*\d)[A-Za-z0-9_-]{{16,}})")
_PEM = re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL)
_LOGIN = re.compile(r"(?<!\w)(\w{1,30}://)[^/@\s:]+(?::[^/@\s]*)?@")
_BARE = re.compile(
    r"\b(?:(?:hf_|sk-|kd-|kimi-|ms-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|npm_)[A-Za-z0-9_-]{8,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{12,}"
    r"|[0-9a-fA-F]{32,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)
_PROMPT = re.compile(rf"(?i)(\bprompt[\"']?\s*[=:]\s*)({_QUOTED})")
"""What vLLM prints of a request when it is told to."""
_GPU = re.compile(r"\b((?:GPU|MIG)-)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_MAC = re.compile(r"\b[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}\b")
_IPV4 = re.compile(r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d\.)(?!\.\d)\b")
_IPV6 = re.compile(
    r"(?<![\w:])(?=(?:[0-9a-fA-F]*:){3})[0-9a-fA-F]{1,4}(?:::?[0-9a-fA-F]{1,4}){2,7}(?![\w:])"
)
_HOME_ROOTS = (
    r"/home/|/Users/|/var/home/|/Volumes/|/media/|/run/media/|/mnt/[a-z]/Users/"
    r"|[A-Za-z]:[\\/]+Users[\\/]+|\\\\+[\w.-]+\\+Users\\+"
)
_FOLDERS = re.compile(rf"({_HOME_ROOTS})([^/\\\s\"']+(?: [^/\\\s\"'=:,]+)*)(?=[/\\])")
"""With blanks in the name, where a separator follows."""
_HOMES = re.compile(rf"({_HOME_ROOTS})(?!<user>)[^/\\\s\"']+")
_DOMAIN = re.compile(r"\b((?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]+)\\[\w.-]+")
_HOST = re.compile(r"\b(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{5,}\b")
_NAMES = re.compile(
    r"\b((?:\w+_)?(?:USER(?:NAME)?|LOGNAME|HOSTNAME|COMPUTERNAME|USERDOMAIN)\s*[=:]\s*)[^\s,;\"']+"
)
_SHELL = re.compile(r"\b[\w.-]+@[\w.-]+(?=:[~/])")
"""The prompt of a terminal."""
_HOST_WORD = re.compile(r"(?i)\b(host(?:name)?(?:\s+is)?\s+)(?=[\w-]*[a-z])[\w]+(?:-[\w]+)+")
_PORT = re.compile(r":\d")
_TOLD = ("://", "@", "from ", "host ", "ip ")
"""What follows is an address."""
_VERSIONS = ("version", "build", "driver", "cuda", "cudnn", "rocm", "==")
LEAST_NETWORK, LARGEST_BYTE = 10, 255
_SHARED_NAMES = frozenset({"root", "user", "admin", "ubuntu"})
"""Names that say nothing about a person and are words of many a log."""


def redact(text: str, *, home: str | None = None, user: str | None = None) -> str:
    """``text`` without keys, tokens, signatures, addresses, home folders and people's names.

    Args:
        text: what shall leave the computer.
        home: the home folder; None = of this process.
        user: the user's name; None = of this process.
    """
    home = str(Path.home()) if home is None else home
    user = _user_name() if user is None else user
    if len(home) > 1:
        text = text.replace(home, "~")
    text = _FOLDERS.sub(r"\1<user>", text)
    text = _HOMES.sub(r"\1<user>", text)
    if len(user) > 2 and user.lower() not in _SHARED_NAMES:
        text = re.sub(rf"\b{re.escape(user)}\b", "<user>", text)
    text = _without_secrets(text)
    text = _DOMAIN.sub(r"\1\\<user>", text)
    text = _SHELL.sub("<user>@<host>", text)
    for pattern, instead in (
        (_HOST, "<host>"),
        (_MAIL, "<address>"),
        (_MAC, "<address>"),
        (_IPV6, "<address>"),
    ):
        text = pattern.sub(instead, text)
    text = _IPV4.sub(_address, text)
    text = _NAMES.sub(rf"\1{REMOVED}", text)
    return _HOST_WORD.sub(r"\1<host>", text)


def names_a_secret(name: str) -> bool:
    """A setting, variable or flag of this name holds a key."""
    return _NAME.search(name) is not None


def is_harmless(value: str) -> bool:
    """A value that is no key whatever it is called: nothing, a switch, a count."""
    return not value or _HARMLESS.fullmatch(value) is not None


def _without_secrets(text: str) -> str:
    text = _PEM.sub(REMOVED, text)
    text = _LOGIN.sub(rf"\1{REMOVED}@", text)
    text = _SCHEME.sub(rf"\1 {REMOVED}", text)
    text = _COOKIE.sub(rf"\1{REMOVED}", text)
    for pattern in (_LISTED, _NAMED, _FLAG, _PROVIDED, _SPOKEN):
        text = pattern.sub(_unless_harmless, text)
    text = _PROMPT.sub(rf"\1{REMOVED}", text)
    text = _GPU.sub(rf"\1{REMOVED}", text)
    return _BARE.sub(REMOVED, text)


def _unless_harmless(match: re.Match[str]) -> str:
    value = match[2].strip("\"'")
    if not value or _HARMLESS.fullmatch(value) or value.lower() in {"bearer", "basic", "digest"}:
        return match[0]
    return match[1] + REMOVED


def _address(match: re.Match[str]) -> str:
    """Four numbers are an address when each fits a byte, and no word calls them a version."""
    parts = [int(part) for part in match[0].split(".")]
    before = match.string[max(match.start() - 12, 0) : match.start()].lower()
    is_told = before.endswith(_TOLD) or _PORT.match(match.string, match.end()) is not None
    is_version = any(word in before for word in _VERSIONS) or (
        parts[0] < LEAST_NETWORK and not is_told
    )
    return match[0] if is_version or max(parts) > LARGEST_BYTE else "<address>"


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
