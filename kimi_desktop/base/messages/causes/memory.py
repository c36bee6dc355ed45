"""D: memory."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "vram_oom_weights",
        ("The weights do not fit into the GPU memory.", "权重放不进显存。"),
        (
            "More layers were put on the GPU than it can hold.",
            "放到 GPU 上的层数超过了显存容量。",
        ),
        (
            "Put fewer layers on the GPU, more experts into RAM, or take a smaller quantization.",
            "请减少 GPU 层数、把更多专家放到内存，或选择更小的量化。",
        ),
    ),
    **cause(
        "kv_cache_oom",
        ("The KV cache does not fit.", "KV 缓存放不下。"),
        (
            "The context is longer than the memory left beside the weights allows.",
            "上下文长度超过了权重之外剩余内存所能容纳的范围。",
        ),
        (
            "Shorten the context, or keep the cache in q8_0.",
            "请缩短上下文，或将缓存改为 q8_0。",
        ),
    ),
    **cause(
        "compute_buffer_oom",
        (
            "The work buffer for one batch does not fit.",
            "单个批次的计算缓冲区放不下。",
        ),
        (
            "The micro-batch is large, or the smallest card is full.",
            "微批次过大，或最小的显卡已满。",
        ),
        (
            "Make the micro-batch smaller, or leave the smallest card out.",
            "请减小微批次，或不使用最小的显卡。",
        ),
    ),
    **cause(
        "vram_oom_at_runtime",
        (
            "The GPU memory ran out after a good start.",
            "启动成功后显存耗尽。",
        ),
        (
            "Peaks of large batches, CUDA graphs or fragments took the last reserve.",
            "大批次的峰值、CUDA 图或显存碎片用完了余量。",
        ),
        (
            "Leave more of the card free: lower the utilization by 0.05 or allow fewer requests.",
            "请为显卡多留余量：将显存占用比例降低 0.05，或减少并发请求。",
        ),
    ),
    **cause(
        "vram_taken_by_other",
        ("Another program holds the GPU memory.", "显存被其他程序占用。"),
        (
            "An earlier engine, a desktop or another model is still on the card.",
            "之前的引擎、桌面程序或其他模型仍在使用该显卡。",
        ),
        (
            "End the other program, or plan with what is free.",
            "请结束该程序，或按剩余显存重新规划。",
        ),
    ),
    **cause(
        "kv_cache_no_room",
        (
            "After the weights nothing is left for the KV cache.",
            "装入权重后没有空间留给 KV 缓存。",
        ),
        (
            "The share of the card that the engine may use is too small for this model.",
            "允许引擎使用的显存比例对该模型来说过小。",
        ),
        (
            "Raise the utilization, take a smaller quantization, or use more GPUs.",
            "请提高显存占用比例、选择更小的量化，或使用更多显卡。",
        ),
    ),
    **cause(
        "context_exceeds_kv_space",
        (
            "The context is longer than the KV cache can hold.",
            "上下文长度超过 KV 缓存的容量。",
        ),
        (
            "One request of full length would not fit into the memory that is left.",
            "剩余内存容不下一个完整长度的请求。",
        ),
        (
            "Set the context to the length that the engine names.",
            "请将上下文设为引擎给出的长度。",
        ),
    ),
    **cause(
        "context_exceeds_model_limit",
        (
            "The context is longer than the model was made for.",
            "上下文长度超过模型的上限。",
        ),
        (
            "The model was trained for fewer tokens than were asked for.",
            "模型训练时的长度小于所要求的长度。",
        ),
        ("Use the model's own limit.", "请使用模型自身的上限。"),
    ),
    **cause(
        "kv_quant_needs_flash_attn",
        (
            "A quantized V cache needs flash attention.",
            "量化的 V 缓存需要 Flash Attention。",
        ),
        (
            "Flash attention is off, or this model does not allow it.",
            "Flash Attention 已关闭，或该模型不支持。",
        ),
        (
            "Switch flash attention on, or keep the V cache in f16.",
            "请开启 Flash Attention，或将 V 缓存改为 f16。",
        ),
    ),
    **cause(
        "ram_oom_killed",
        (
            "The system ended the engine because the memory ran out.",
            "内存不足，系统结束了引擎。",
        ),
        (
            "Model, cache and other programs together need more RAM than there is.",
            "模型、缓存和其他程序所需的内存超过了本机容量。",
        ),
        (
            "Free memory, add swap, or take a smaller quantization.",
            "请释放内存、增加交换空间，或选择更小的量化。",
        ),
    ),
    **cause(
        "ram_oom_weights",
        (
            "The system refused the memory for the weights.",
            "系统拒绝为权重分配内存。",
        ),
        (
            "There is not enough RAM, or a limit forbids more.",
            "内存不足，或受到了限制。",
        ),
        (
            "Free memory or raise the limit; keep the file mapped instead of copied.",
            "请释放内存或提高限制；并使用内存映射而不是复制文件。",
        ),
    ),
    **cause(
        "memory_cap_container_or_wsl",
        (
            "A memory limit of the container or of WSL was reached.",
            "达到了容器或 WSL 的内存上限。",
        ),
        (
            "The computer has more memory than this environment may use.",
            "电脑的内存多于该环境允许使用的量。",
        ),
        (
            "Raise the limit (docker -m, or memory= in .wslconfig) and start again.",
            "请提高上限（docker -m，或 .wslconfig 中的 memory=）后重新启动。",
        ),
    ),
}
