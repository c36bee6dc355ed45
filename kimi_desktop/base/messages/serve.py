"""The gateway."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "serve.port_taken": Text(
        "Port {port} is used by another program.",
        "端口 {port} 已被其他程序占用。",
    ),
    "serve.port_taken.next": Text(
        "Choose another port, for example {free_port}, and switch it on again.",
        "请换一个端口（例如 {free_port}），然后重新开启。",
    ),
    "serve.no_address": Text(
        "This machine does not have the address {address} (any more).",
        "本机（已）没有地址 {address}。",
    ),
    "serve.no_address.next": Text(
        "Choose the address anew on the Serve page, or serve this machine only.",
        "请在“服务”页面重新选择地址，或仅供本机使用。",
    ),
    "serve.network_changed": Text(
        "The endpoint was switched off: this machine has left the network of {address}.",
        "端点已关闭：本机已离开 {address} 所在的网络。",
    ),
    "serve.network_changed.next": Text(
        "Switched on again it serves this machine only; open the new network on the Serve page.",
        "重新开启后仅供本机使用；如需向新网络开放，请在“服务”页面选择。",
    ),
    "serve.clients.list.own": Text("{name}: your own key", "{name}：您自己的密钥"),
    "serve.clients.list.one": Text("{name}", "{name}"),
    "serve.clients.added": Text("Key of {name}: {secret}", "{name} 的密钥：{secret}"),
    "serve.clients.revoked": Text(
        "The key of {name} opens nothing any more.", "{name} 的密钥已失效。"
    ),
    "serve.clients.renewed": Text(
        "Your new key: {secret}\nThe one before opens nothing any more.",
        "您的新密钥：{secret}\n之前的密钥已失效。",
    ),
    "serve.client_name": Text(
        "“{name}” cannot be the name of a program: it is empty or taken.",
        "“{name}”不能作为程序名称：名称为空或已被使用。",
    ),
    "serve.client_name.next": Text("Type another name.", "请输入其他名称。"),
    "serve.clients_full": Text(
        "There are keys for {count} programs already.", "已有 {count} 个程序的密钥。"
    ),
    "serve.clients_full.next": Text("Revoke one that is no longer used.", "请撤销不再使用的密钥。"),
    "serve.client_unknown": Text(
        "There is no key called “{name}”. There are: {names}.",
        "没有名为“{name}”的密钥。现有：{names}。",
    ),
    "serve.client_unknown.next": Text(
        "Type one of these names (clients list).", "请输入其中一个名称（clients list）。"
    ),
    "serve.keys_not_kept": Text(
        "The keys could not be written to {path}: {detail}.",
        "无法将密钥写入 {path}：{detail}。",
    ),
    "serve.keys_not_kept.next": Text(
        "Make the folder writable or free some space, and do it again.",
        "请确保该文件夹可写或释放空间，然后重试。",
    ),
    "serve.not_saved": Text(
        "The certificate could not be saved as {path}: {detail}.",
        "无法将证书保存为 {path}：{detail}。",
    ),
    "serve.not_saved.next": Text("Choose another place.", "请选择其他位置。"),
    "serve.failed": Text(
        "The endpoint could not be served: {detail}.",
        "无法提供接口服务：{detail}。",
    ),
    "serve.failed.next": Text(
        "Switch it on again; if it fails again, look at the app's log.",
        "请重新开启；如果再次失败，请查看应用日志。",
    ),
}
