"""Servers that somebody else runs."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "attached.bad_name": Text(
        "“{name}” cannot be the name of a server: it is empty, too long or taken.",
        "“{name}”不能用作服务器名称：名称为空、过长或已被占用。",
    ),
    "attached.bad_name.next": Text(
        "Give it another name of at most 40 letters.",
        "请换一个不超过 40 个字符的名称。",
    ),
    "attached.bad_address": Text(
        "“{url}” is not the address of an API.",
        "“{url}”不是有效的 API 地址。",
    ),
    "attached.bad_address.next": Text(
        "It looks like http://192.168.1.5:8000/v1. No password and no “?” in it: a key has a "
        "field of its own.",
        "地址形如 http://192.168.1.5:8000/v1，其中不能含密码或“?”；密钥请填写在单独的输入框中。",
    ),
    "attached.unknown": Text(
        "There is no server called “{name}”.",
        "没有名为“{name}”的服务器。",
    ),
    "attached.unknown.next": Text(
        "Known: {names}. Add one in Settings, Other servers, or by “kimi-desktop endpoint add”.",
        "已有：{names}。可在“设置 → 其他服务器”中或用“kimi-desktop endpoint add”添加。",
    ),
    "attached.unreachable": Text(
        "{name} does not answer at {url}: {detail}.",
        "{name} 在 {url} 没有响应：{detail}。",
    ),
    "attached.unreachable.next": Text(
        "See whether it runs and whether the address and the port are right.",
        "请确认该服务器正在运行，且地址和端口正确。",
    ),
    "attached.needs_key": Text(
        "{name} wants an API key.",
        "{name} 需要 API 密钥。",
    ),
    "attached.needs_key.next": Text(
        "Add its key in Settings, Other servers.",
        "请在“设置 → 其他服务器”中填写它的密钥。",
    ),
    "attached.bad_key": Text(
        "{name} does not accept the API key: {detail}.",
        "{name} 不接受该 API 密钥：{detail}。",
    ),
    "attached.bad_key.next": Text(
        "Put the right key into Settings, Other servers; it may also lack the right to do this.",
        "请在“设置 → 其他服务器”中填写正确的密钥；也可能是该密钥没有相应权限。",
    ),
    "attached.bad_certificate": Text(
        "The certificate of {name} cannot be trusted: {detail}.",
        "无法信任 {name} 的证书：{detail}。",
    ),
    "attached.bad_certificate.next": Text(
        "Somebody may be in between. A certificate of your own company belongs into the system's "
        "trust store.",
        "连接可能被劫持。如果是公司自签证书，请将其加入系统的信任列表。",
    ),
    "attached.no_tls": Text(
        "{name} does not speak TLS at this port: {detail}.",
        "{name} 在该端口不支持 TLS：{detail}。",
    ),
    "attached.no_tls.next": Text(
        "Write http:// instead of https:// if it is on your own network, or take its TLS port.",
        "如果它在您自己的网络中，请将 https:// 改为 http://，或改用其 TLS 端口。",
    ),
    "attached.not_openai": Text(
        "What answers at {url} is not an OpenAI API: {detail}.",
        "{url} 处的服务不是 OpenAI 接口：{detail}。",
    ),
    "attached.not_openai.next": Text(
        "Look up the address of its API; it often ends in /v1.",
        "请查看其 API 地址，通常以 /v1 结尾。",
    ),
    "attached.trouble": Text(
        "{name} has trouble of its own: {detail}.",
        "{name} 自身出现问题：{detail}。",
    ),
    "attached.trouble.next": Text(
        "Try again in a while, or look at its log.",
        "请稍后重试，或查看它的日志。",
    ),
    "attached.no_model": Text(
        "{name} does not have the model “{model}”.",
        "{name} 上没有模型“{model}”。",
    ),
    "attached.no_model.next": Text(
        "It has: {models}.",
        "它提供：{models}。",
    ),
    "attached.lost": Text(
        "{name} no longer answers: {detail}.",
        "{name} 已不再响应：{detail}。",
    ),
    "attached.lost.next": Text(
        "The text so far is kept. Attach to it again when it is back, or take another model.",
        "已生成的内容已保留。请待其恢复后重新连接，或选择其他模型。",
    ),
    "attached.key_open": Text(
        "The key of {name} would travel unencrypted over the internet to {url}.",
        "{name} 的密钥会以明文形式经互联网发送到 {url}。",
    ),
    "attached.key_open.next": Text(
        "Use its https:// address. Plain http with a key is for your own network only.",
        "请使用 https:// 地址。带密钥的明文 http 只适用于您自己的网络。",
    ),
    "attached.key_malformed": Text(
        "This cannot be an API key.",
        "这不是有效的 API 密钥。",
    ),
    "attached.key_malformed.next": Text(
        "Copy it again: one word without blanks.",
        "请重新复制：密钥是一个不含空格的字符串。",
    ),
    "attached.key_not_kept": Text(
        "The key cannot be kept: the system's keyring or the private file says {detail}.",
        "无法保存密钥：系统钥匙串或私有文件返回 {detail}。",
    ),
    "attached.key_not_kept.next": Text(
        "It works until the app is closed. Unlock the keyring, or agree to a private file.",
        "在应用关闭前密钥仍然有效。请解锁钥匙串，或同意将其存入私有文件。",
    ),
    "attached.not_in_store": Text(
        "The file of “{model}” was not found in Ollama's folders on this computer.",
        "在本机 Ollama 的文件夹中没有找到“{model}”的文件。",
    ),
    "attached.not_in_store.next": Text(
        "Its store may be elsewhere: name the folder in Models, Import.",
        "它的存储位置可能在别处：请在“模型 → 导入”中指定该文件夹。",
    ),
    "attached.program.other": Text("an OpenAI-compatible server", "OpenAI 兼容服务器"),
    "attached.models.one": Text("1 model", "1 个模型"),
    "attached.models.many": Text("{count} models", "{count} 个模型"),
    "attached.not_well": Text("says that it is not well", "报告自身状态异常"),
    "attached.context": Text("context {context}", "上下文 {context}"),
    "attached.owner": Text("of {owner}", "提供者 {owner}"),
    "attached.key.none": Text("no key", "无密钥"),
    "attached.key.keyring": Text("key in the system's keyring", "密钥存于系统钥匙串"),
    "attached.key.session": Text("key until the app ends", "密钥仅在本次运行中有效"),
    "attached.key.file": Text("key in a private file", "密钥存于私有文件"),
    "attached.terminal.none": Text(
        "No server yet. Add one: kimi-desktop endpoint add NAME URL",
        "还没有服务器。添加方法：kimi-desktop endpoint add 名称 地址",
    ),
    "attached.terminal.found": Text("found", "自动发现"),
    "attached.terminal.kept": Text("“{name}” is kept.", "已保存“{name}”。"),
    "attached.terminal.no_answer": Text(
        "Warning: it does not answer now. Ask it again: kimi-desktop endpoint check {name}",
        "警告：它目前没有应答。稍后可再次检查：kimi-desktop endpoint check {name}",
    ),
    "attached.terminal.replaced": Text(
        "“{name}” was {url} until now.", "“{name}”之前的地址是 {url}，已被替换。"
    ),
    "attached.terminal.replaced_key": Text(
        "“{name}” was {url} until now; the key for that address is forgotten.",
        "“{name}”之前的地址是 {url}，已被替换；原地址的密钥已删除。",
    ),
    "attached.terminal.removed": Text("“{name}” is removed.", "已移除“{name}”。"),
    "attached.terminal.ask_key": Text(
        "API key of {name} (not shown):", "{name} 的 API 密钥（输入时不显示）："
    ),
    "attached.terminal.key_session": Text(
        "There is no keyring here, so the key was not kept. --key-file puts it into a private file "
        "of the profile.",
        "本机没有钥匙串，密钥未保存。使用 --key-file 可将其存入配置目录下的私有文件。",
    ),
    "attached.terminal.needs": Text(
        "This action needs {what}.",
        "此操作需要 {what}。",
    ),
}
