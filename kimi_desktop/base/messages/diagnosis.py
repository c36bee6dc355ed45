"""What a diagnosis says around its causes."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "diagnosis.no_log": Text(
        "The log {path} cannot be read: {detail}.", "无法读取日志 {path}：{detail}。"
    ),
    "diagnosis.no_log.next": Text(
        "Name a log file, a saved diagnosis, the number of a run, or - for standard input.",
        "请指定日志文件、已保存的诊断文件、运行编号，或用 - 表示标准输入。",
    ),
    "diagnosis.no_run": Text("There is no run {run}.", "没有编号为 {run} 的运行。"),
    "diagnosis.no_run.next": Text(
        "kimi-desktop runs lists those that are kept.", "kimi-desktop runs 会列出保存的运行。"
    ),
    "diagnosis.no_failure": Text("No run has failed.", "没有失败的运行。"),
    "diagnosis.no_failure.next": Text(
        "Name a log file, a saved diagnosis, or a run that was slow (kimi-desktop runs).",
        "请指定日志文件、已保存的诊断文件，或较慢的运行（kimi-desktop runs）。",
    ),
    "diagnosis.nothing_kept": Text(
        "Nothing is kept of run {run} that could be diagnosed. It ended so: {outcome}",
        "运行 {run} 没有保存可供诊断的信息。结束状态：{outcome}",
    ),
    "diagnosis.nothing_kept.next": Text(
        "Facts are kept of the last 200 failures and slow or odd answers. A log can be named"
        " instead.",
        "最近 200 次失败、变慢或异常回答的信息会被保存。也可以指定日志文件。",
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
    "diagnosis.way.threads": Text(
        "As many threads as the plan says, not {before}", "按计划设置线程数，不用 {before}"
    ),
    "diagnosis.way.threads.detail": Text("Nothing is given up.", "没有损失。"),
    "diagnosis.way.parallel": Text(
        "Answers at the same time: {before} → {after}", "同时回答数：{before} → {after}"
    ),
    "diagnosis.way.parallel.detail": Text(
        "Each keeps its context; the cache takes twice the memory.",
        "每个回答的上下文不变；缓存占用的内存加倍。",
    ),
    "diagnosis.way.extra": Text("Without the extra flags", "去掉附加参数"),
    "diagnosis.way.extra.detail": Text("{flags}", "{flags}"),
    "diagnosis.stepped_down": Text(
        "Not enough memory. Started again: {text}", "内存不足，已重新启动：{text}"
    ),
    "diagnosis.beyond.end_program": Text(
        "End {name} (process {pid}) on GPU {gpu}", "结束 GPU {gpu} 上的 {name}（进程 {pid}）"
    ),
    "diagnosis.beyond.end_program.detail": Text(
        "It holds {size} there. You are asked first; what is not saved in it is lost.",
        "它占用 {size}。操作前会询问；未保存的内容将丢失。",
    ),
    "diagnosis.beyond.verify": Text("Verify the file and mend it", "校验并修复文件"),
    "diagnosis.beyond.verify.detail": Text(
        "Every byte is compared; only what is bad is fetched again.",
        "逐字节比对，只重新下载损坏的部分。",
    ),
    "diagnosis.beyond.other_file": Text("Take another quantization", "换一种量化"),
    "diagnosis.beyond.other_file.detail": Text(
        "The list says which ones fit this machine.", "列表会标明哪些适合本机。"
    ),
    "diagnosis.beyond.engine": Text("Install another build of the engine", "安装其他版本的引擎"),
    "diagnosis.beyond.engine.detail": Text(
        "Settings list the official builds for this machine.", "设置中列出了适合本机的官方版本。"
    ),
    "diagnosis.beyond.line": Text("Raise the limit", "提高限制"),
    "diagnosis.slow.decode": Text(
        "Slower than forecast: {measured:.1f} tok/s, where {low:.1f} to {high:.1f} were expected.",
        "比预测慢：{measured:.1f} 词元/秒，预计为 {low:.1f} 到 {high:.1f}。",
    ),
    "diagnosis.slow.prefill": Text(
        "The prompt was read more slowly than forecast: {measured:,.0f} tok/s, where {low:,.0f} to"
        " {high:,.0f} were expected.",
        "提示词处理比预测慢：{measured:,.0f} 词元/秒，预计为 {low:,.0f} 到 {high:,.0f}。",
    ),
    "diagnosis.slow.first_token": Text(
        "The first token took {measured:,.0f} s; with the conversation in the cache {low:,.0f} to"
        " {high:,.0f} s were expected.",
        "首个词元用了 {measured:,.0f} 秒；若对话在缓存中，预计为 {low:,.0f} 到 {high:,.0f} 秒。",
    ),
    "diagnosis.slow.load": Text(
        "Loading took {measured:,.0f} s, where {low:,.0f} to {high:,.0f} s were expected.",
        "加载用了 {measured:,.0f} 秒，预计为 {low:,.0f} 到 {high:,.0f} 秒。",
    ),
    "diagnosis.slow.queue": Text(
        "A request has waited for {measured:,.0f} s.", "有请求已等待 {measured:,.0f} 秒。"
    ),
    "diagnosis.odd_answer": Text(
        "An answer was empty, endless or made no sense.", "有一次回答为空、没有尽头或不知所云。"
    ),
    "diagnosis.slow.unknown": Text(
        "Nothing that was measured names a reason: neither disk, memory, processors nor GPUs stood"
        " out.",
        "测量中没有发现原因：磁盘、内存、处理器和 GPU 均无异常。",
    ),
    "diagnosis.frees.host": Text("Frees {size} of RAM.", "释放 {size} 内存。"),
    "diagnosis.frees.gpu": Text("Frees {size} on GPU {number}.", "在 GPU {number} 上释放 {size}。"),
    "diagnosis.others": Text("Also possible:", "也可能是："),
}
