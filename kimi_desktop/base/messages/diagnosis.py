"""What a diagnosis says around its causes."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "diagnosis.no_log": Text(
        "The log {path} cannot be read: {detail}.", "无法读取日志 {path}：{detail}。"
    ),
    "diagnosis.no_log.next": Text(
        "Name a log file, a saved diagnosis, or - for standard input.",
        "请指定日志文件、已保存的诊断文件，或用 - 表示标准输入。",
    ),
    "diagnosis.unknown": Text(
        "The cause is unknown: nothing in the log and the facts speaks clearly enough.",
        "原因未知：日志和已知事实都不足以判断。",
    ),
    "diagnosis.unknown.do": Text(
        "Keep the log. It says most when it holds everything from the start to the end.",
        "请保留日志。从启动到结束的完整日志最有帮助。",
    ),
    "diagnosis.do": Text("What to do: {text}", "建议：{text}"),
    "diagnosis.fix": Text("Value: {text}", "取值：{text}"),
    "diagnosis.line": Text("Line {number} of the log:", "日志第 {number} 行："),
    "diagnosis.facts": Text("From the facts:", "依据的事实："),
    "diagnosis.sure": Text("How sure: {share}", "把握：{share}"),
    "diagnosis.others": Text("Also possible:", "也可能是："),
}
