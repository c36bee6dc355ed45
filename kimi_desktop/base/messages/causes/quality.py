"""H: the text."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "wrong_chat_template",
        ("The wrong chat template is used.", "使用了错误的聊天模板。"),
        (
            "The model sees markers that it was not trained with, and writes them itself.",
            "模型看到了训练时没有的标记，并把它们写进了回答。",
        ),
        ("Use the model's own template.", "请使用模型自带的模板。"),
    ),
    **cause(
        "quant_too_low",
        ("The quantization is too coarse.", "量化过低。"),
        (
            "Too much of the weights was rounded away.",
            "权重的精度损失过多。",
        ),
        ("Take the next larger quantization.", "请选择高一级的量化。"),
    ),
    **cause(
        "sampling_extreme",
        ("The sampling settings are extreme.", "采样参数过于极端。"),
        (
            "A high temperature or penalty makes unlikely words likely.",
            "过高的温度或惩罚使不合理的词更容易出现。",
        ),
        ("Use a temperature of about 0.7.", "请将温度设为 0.7 左右。"),
    ),
    **cause(
        "kv_cache_quant_garbles",
        (
            "The quantized KV cache spoils the text.",
            "量化的 KV 缓存导致文本混乱。",
        ),
        (
            "This model or this build does not bear a coarse cache.",
            "该模型或该版本承受不了低精度缓存。",
        ),
        ("Keep the cache in f16, or try another build.", "请将缓存改为 f16，或尝试其他版本。"),
    ),
    **cause(
        "token_budget_used_up",
        (
            "The limit of the answer was reached before it was finished.",
            "回答在完成前用尽了词元额度。",
        ),
        (
            "Thinking counts, too, and took most of it.",
            "思考也计入额度，并占用了大部分。",
        ),
        ("Raise the limit of tokens, or limit the thinking.", "请提高词元上限，或限制思考长度。"),
    ),
    **cause(
        "endless_generation",
        ("The model does not stop or repeats itself.", "模型停不下来或不断重复。"),
        (
            "Its end token is unknown to the engine, or the sampling lets it run in circles.",
            "引擎不认识其结束标记，或采样设置使其陷入循环。",
        ),
        (
            "Stop it; set a limit and a repetition penalty, or correct the end token.",
            "请停止生成；设置上限和重复惩罚，或更正结束标记。",
        ),
    ),
}
