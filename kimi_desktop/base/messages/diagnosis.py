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
    "diagnosis.way.ubatch": Text(
        "Smaller micro-batch: {before:,} → {after:,}", "减小微批次：{before:,} → {after:,}"
    ),
    "diagnosis.way.ubatch.detail": Text(
        "Long prompts are read more slowly.", "处理长提示词会变慢。"
    ),
    "diagnosis.way.cache": Text("KV cache {before} → {after}", "KV 缓存 {before} → {after}"),
    "diagnosis.way.cache.detail": Text(
        "The cache changes its precision; the context stays.", "缓存精度改变；上下文不变。"
    ),
    "diagnosis.way.experts": Text(
        "More expert layers in RAM: {after} (+{count})", "更多专家层放到内存：{after}（+{count}）"
    ),
    "diagnosis.way.experts.detail": Text("Answers become a little slower.", "回答会稍慢一些。"),
    "diagnosis.way.layers": Text(
        "Layers on the GPU: {before} → {after}", "GPU 层数：{before} → {after}"
    ),
    "diagnosis.way.layers.detail": Text("Answers become slower.", "回答会变慢。"),
    "diagnosis.way.context": Text(
        "Context {before:,} → {after:,} tokens", "上下文 {before:,} → {after:,} 词元"
    ),
    "diagnosis.way.context.detail": Text(
        "This changes how long a conversation can be.", "这会改变对话的最大长度。"
    ),
    "diagnosis.way.extra": Text("Without the extra flags", "去掉附加参数"),
    "diagnosis.way.extra.detail": Text("{flags}", "{flags}"),
    "diagnosis.stepped_down": Text(
        "Not enough memory. Started again: {text}", "内存不足，已重新启动：{text}"
    ),
    "diagnosis.frees.host": Text("Frees {size} of RAM.", "释放 {size} 内存。"),
    "diagnosis.frees.gpu": Text("Frees {size} on GPU {number}.", "在 GPU {number} 上释放 {size}。"),
    "diagnosis.others": Text("Also possible:", "也可能是："),
}
