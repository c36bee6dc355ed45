"""F: serving."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "prompt_exceeds_context",
        (
            "The conversation is longer than the context.",
            "对话长度超过了上下文。",
        ),
        (
            "Prompt and answer share the context, and several slots divide it.",
            "提示词与回答共用上下文，多个槽位还会平分它。",
        ),
        (
            "Use a longer context or fewer slots, or begin a new chat.",
            "请使用更长的上下文或更少的槽位，或开始新对话。",
        ),
    ),
    **cause(
        "client_request_mismatch",
        (
            "The request asks for something that this server does not offer.",
            "请求的内容与该服务不匹配。",
        ),
        (
            "The model's name, the key or the address is wrong, or a feature was not switched on.",
            "模型名、密钥或地址有误，或相应功能没有开启。",
        ),
        (
            "Use the name and key that are shown here, or start with that feature.",
            "请使用此处显示的名称和密钥，或开启该功能后启动。",
        ),
    ),
    **cause(
        "template_broken",
        ("The chat template has an error.", "聊天模板有错误。"),
        (
            "It uses something that this engine's template language does not know.",
            "模板使用了该引擎不支持的语法。",
        ),
        (
            "Use the template of the model's repository, or update the engine.",
            "请使用模型仓库中的模板，或更新引擎。",
        ),
    ),
    **cause(
        "template_rejects_messages",
        (
            "The chat template refuses these messages.",
            "聊天模板拒绝了这些消息。",
        ),
        (
            "It wants question and answer to take turns, or the system prompt first.",
            "它要求问答交替出现，或系统提示词位于开头。",
        ),
        (
            "Join messages of one role, or use another template.",
            "请合并同一角色的消息，或更换模板。",
        ),
    ),
    **cause(
        "grammar_invalid",
        (
            "The grammar or JSON schema cannot be read.",
            "语法或 JSON Schema 无法解析。",
        ),
        (
            "It has an error, or a form that this engine does not support.",
            "其中有错误，或使用了该引擎不支持的写法。",
        ),
        ("Correct it where the line points.", "请在日志指出的位置更正。"),
    ),
    **cause(
        "draft_incompatible",
        (
            "The draft model does not match the model.",
            "草稿模型与主模型不匹配。",
        ),
        (
            "They do not share a vocabulary.",
            "两者的词表不同。",
        ),
        (
            "Take a draft of the same family, or none.",
            "请选择同系列的草稿模型，或不使用。",
        ),
    ),
    **cause(
        "request_queueing",
        ("Requests wait for a free place.", "请求正在排队。"),
        (
            "More requests come than the engine may answer at the same time.",
            "请求数超过了引擎可同时处理的数量。",
        ),
        (
            "Allow more at once if the memory permits, or ask for shorter answers.",
            "若内存允许，请增加并发数，或缩短回答。",
        ),
    ),
}
