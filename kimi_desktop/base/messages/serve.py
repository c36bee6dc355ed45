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
    "serve.failed": Text(
        "The endpoint could not be served: {detail}.",
        "无法提供接口服务：{detail}。",
    ),
    "serve.failed.next": Text(
        "Switch it on again; if it fails again, look at the app's log.",
        "请重新开启；如果再次失败，请查看应用日志。",
    ),
}
