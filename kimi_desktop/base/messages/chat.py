"""Conversations and streams."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "chat.no_engine": Text(
        "No model is loaded.",
        "尚未加载模型。",
    ),
    "chat.no_engine.next": Text(
        "Choose a model and start it; the message is sent when it is ready.",
        "请选择并启动一个模型；就绪后会自动发送该消息。",
    ),
    "chat.connection_lost": Text(
        "The engine stopped answering in the middle: {detail}.",
        "引擎在回答途中断开：{detail}。",
    ),
    "chat.connection_lost.next": Text(
        "The text so far is kept. Restart the engine, then regenerate the answer.",
        "已生成的内容已保留。请重启引擎，然后重新生成回答。",
    ),
    "chat.bad_answer": Text(
        "The engine sent something that is not an answer: {detail}.",
        "引擎返回的内容不是有效的回答：{detail}。",
    ),
    "chat.bad_answer.next": Text(
        "Regenerate the answer; if it happens again, look at the engine's log.",
        "请重新生成回答；如果再次出现，请查看引擎日志。",
    ),
    "chat.refused": Text(
        "The engine refused the request: {detail}",
        "引擎拒绝了该请求：{detail}",
    ),
    "chat.refused.next": Text(
        "Change the message or the sampling settings, then send it again.",
        "请修改消息或采样设置后重新发送。",
    ),
    "chat.too_long": Text(
        "The conversation needs {needed:,} tokens, but the context holds {context:,}.",
        "本次对话需要 {needed:,} 个词元，而上下文只能容纳 {context:,} 个。",
    ),
    "chat.too_long.next": Text(
        "Start a new chat, shorten the message, or load the model with a larger context.",
        "请新建对话、缩短消息，或以更大的上下文重新加载模型。",
    ),
    "chat.only_thinking": Text(
        "All {max_tokens:,} tokens of the answer went into thinking, so there is no answer.",
        "回答的 {max_tokens:,} 个词元全部用于思考，因此没有正文。",
    ),
    "chat.only_thinking.next": Text(
        "Allow longer answers, or switch thinking off, then regenerate.",
        "请调高最大回答长度或关闭思考，然后重新生成。",
    ),
    "chat.looping": Text("This answer repeats itself.", "这个回答在不断重复。"),
    "chat.looping.next": Text(
        "Ask again with a higher temperature or a limit; a wrong end token does it, too.",
        "请提高温度或设置上限后重试；模型的结束标记有误也会导致重复。",
    ),
    "chat.template_leak": Text(
        "Markers of a chat template stand in this answer.", "这个回答中出现了聊天模板的标记。"
    ),
    "chat.template_leak.next": Text(
        "The template does not suit the model: use the one of its repository.",
        "模板与模型不匹配：请使用模型仓库中的模板。",
    ),
    "chat.gibberish": Text("This answer looks like nonsense.", "这个回答看起来像乱码。"),
    "chat.gibberish.next": Text(
        "Verify the file first; then look at the temperature, the KV type and the quantization.",
        "请先校验文件，再检查温度、KV 类型和量化。",
    ),
    "chat.empty_answer": Text(
        "The model ended its answer without a word.",
        "模型没有输出任何内容就结束了回答。",
    ),
    "chat.empty_answer.next": Text(
        "Regenerate the answer, or ask in other words.",
        "请重新生成回答，或换一种问法。",
    ),
    "chat.store_failed": Text(
        "The chats in {path} could not be read or written: {detail}.",
        "无法读写 {path} 中的对话：{detail}。",
    ),
    "chat.store_failed.next": Text(
        "They go on in memory, and writing is tried again every few seconds.",
        "对话暂时保留在内存中，并会每隔几秒重试写入。",
    ),
    "chat.store_damaged": Text(
        "The chats file was damaged. {count:,} chats were rescued from it.",
        "对话文件已损坏，从中恢复了 {count:,} 个对话。",
    ),
    "chat.store_damaged.next": Text(
        "The damaged file is kept as {path}; a new one is in use.",
        "损坏的文件保留为 {path}；现已启用新文件。",
    ),
    "chat.store_too_new": Text(
        "The chats in {path} come from a newer version (schema {found}, known here: {known}).",
        "{path} 中的对话来自更新的版本（格式 {found}，当前版本支持到 {known}）。",
    ),
    "chat.store_too_new.next": Text(
        "Update Kimi Desktop. Until then new chats stay in memory, and the file is not touched.",
        "请升级 Kimi Desktop。在此之前，新对话只保留在内存中，该文件不会被改动。",
    ),
    "chat.stats.tokens": Text("{tokens} tokens", "{tokens} 个词元"),
    "chat.stats.first_token": Text("first token {time}", "首字延迟 {time}"),
    "chat.stats.thought": Text("thought for {time}", "思考 {time}"),
    "chat.stats.finish.generating": Text("not finished", "尚未结束"),
    "chat.stats.finish.end": Text("stopped: end", "结束：正常"),
    "chat.stats.finish.length": Text("stopped: length limit", "结束：达到长度上限"),
    "chat.stats.finish.stopped": Text("stopped: by you", "结束：已手动停止"),
    "chat.stats.finish.failed": Text("stopped: failed", "结束：出错"),
    "chat.terminal.loading": Text("Loading {name}", "正在加载 {name}"),
    "chat.terminal.loading_part": Text(
        "Loading {name}: {percent} %", "正在加载 {name}：{percent} %"
    ),
    "chat.terminal.loading_bytes": Text("{done} of {total} read", "已读取 {done} / {total}"),
    "chat.terminal.left": Text("{time} left", "剩余 {time}"),
    "chat.terminal.stalled": Text(
        "standing still for {time} (it is not ended; Ctrl+C does that)",
        "已停滞 {time}（不会自动结束，可按 Ctrl+C 结束）",
    ),
    "chat.terminal.ready": Text("{name} is ready ({engine}).", "{name} 已就绪（{engine}）。"),
    "chat.terminal.prefill": Text(
        "Reading the prompt: {done} of {total} tokens",
        "正在读取提示词：{done} / {total} 个词元",
    ),
    "chat.terminal.welcome": Text(
        "Ask something. Ctrl+C stops an answer, /help lists the commands, /quit leaves.",
        "请输入问题。Ctrl+C 停止回答，/help 查看命令，/quit 退出。",
    ),
    "chat.terminal.help": Text(
        "/new         begin another chat\n"
        "/regenerate  answer the last question again\n"
        "/stop        stop the answer (also Ctrl+C)\n"
        "/quit        leave (also Ctrl+D)\n"
        "A line that ends in a backslash goes on in the next one.",
        "/new         新建对话\n"
        "/regenerate  重新回答上一个问题\n"
        "/stop        停止回答（也可按 Ctrl+C）\n"
        "/quit        退出（也可按 Ctrl+D）\n"
        "以反斜杠结尾的行会与下一行相连。",
    ),
    "chat.terminal.new": Text("A new chat.", "已新建对话。"),
    "chat.terminal.nothing_to_stop": Text("Nothing is being answered.", "当前没有正在生成的回答。"),
    "chat.terminal.nothing_to_regenerate": Text(
        "There is no question in this chat yet.",
        "这个对话中还没有问题。",
    ),
    "chat.terminal.no_prompt": Text(
        "Nothing to answer: give --prompt TEXT, or a text through a pipe.",
        "没有可回答的内容：请使用 --prompt TEXT，或通过管道输入文本。",
    ),
}
