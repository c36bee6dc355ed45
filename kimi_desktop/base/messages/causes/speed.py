"""G: speed."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "mmap_thrash",
        (
            "The model is larger than the memory and is read from disk again and again.",
            "模型大于内存，正在反复读盘。",
        ),
        (
            "Every token needs weights that no longer fit into RAM.",
            "生成每个词元都需要内存放不下的权重。",
        ),
        (
            "Take a smaller quantization, add RAM, or use the fastest disk.",
            "请选择更小的量化、增加内存，或使用最快的磁盘。",
        ),
    ),
    **cause(
        "slow_load_disk",
        ("Loading waits for the disk.", "加载受限于磁盘速度。"),
        (
            "The disk or the network share is slow; the engine is fine.",
            "磁盘或网络共享较慢；引擎本身正常。",
        ),
        ("Move the model to an NVMe disk.", "请将模型移到 NVMe 固态硬盘。"),
    ),
    **cause(
        "first_start_compile",
        (
            "The engine compiles its GPU code; this happens at the first start only.",
            "引擎正在编译 GPU 代码；仅首次启动时发生。",
        ),
        (
            "Kernels are made for this card and kept for the next start.",
            "为本机显卡编译的内核会保留到下次启动。",
        ),
        ("Wait, and keep the caches.", "请等待，并保留缓存。"),
    ),
    **cause(
        "partial_offload_slow",
        (
            "A part of the model runs from RAM, which sets the speed.",
            "部分模型在内存中运行，速度受其限制。",
        ),
        (
            "The GPU memory does not hold all layers or experts.",
            "显存放不下全部的层或专家。",
        ),
        (
            "Take a smaller quantization, or move more experts to the GPU.",
            "请选择更小的量化，或将更多专家移到 GPU。",
        ),
    ),
    **cause(
        "attention_slow_path",
        ("Attention takes a slow path.", "注意力计算走了慢路径。"),
        (
            "Flash attention is off, or this hardware has no fast kernel for this cache type.",
            "Flash Attention 未开启，或该硬件没有适合此缓存类型的快速内核。",
        ),
        (
            "Use flash attention with the same cache type for K and V (q8_0 or f16).",
            "请开启 Flash Attention，并让 K 与 V 使用相同的缓存类型（q8_0 或 f16）。",
        ),
    ),
    **cause(
        "threads_misconfigured",
        (
            "The number of threads does not fit the processor.",
            "线程数与处理器不匹配。",
        ),
        (
            "More threads than physical cores, or a limit on the processor, make them wait for "
            "each other.",
            "线程多于物理核心，或处理器配额不足，使线程互相等待。",
        ),
        (
            "Use as many threads as there are physical cores, and lift the limit.",
            "请将线程数设为物理核心数，并取消配额限制。",
        ),
    ),
    **cause(
        "numa_misplaced",
        (
            "The memory lies at the wrong processor.",
            "内存分布在错误的处理器上。",
        ),
        (
            "With two sockets half of the reads go the long way.",
            "双路机器上有一半读取要跨处理器进行。",
        ),
        (
            "Spread the model over both (--numa distribute), or use one socket.",
            "请将模型分布到两个处理器（--numa distribute），或只用一个。",
        ),
    ),
    **cause(
        "thermal_or_power_limit",
        ("Heat or a power limit slows the GPU.", "过热或功耗限制使显卡降频。"),
        (
            "The card lowers its clocks to stay within its limits.",
            "显卡为保持在限制内而降低频率。",
        ),
        ("Improve the cooling, or raise the power limit.", "请改善散热，或提高功耗上限。"),
    ),
    **cause(
        "windows_sysmem_fallback",
        (
            "The GPU memory overflows into RAM.",
            "显存溢出到了内存。",
        ),
        (
            "Windows lends RAM to a full card, over the slow bus.",
            "显存占满后，Windows 会通过较慢的总线借用内存。",
        ),
        (
            "Plan for less GPU memory, or forbid the fallback in the driver.",
            "请减少显存用量，或在驱动中禁止该回退。",
        ),
    ),
    **cause(
        "prompt_reprocessed_each_turn",
        (
            "The whole prompt is computed again at every turn.",
            "每一轮都会重新处理整个提示词。",
        ),
        (
            "The cache of such a model cannot be continued, or the start of the prompt changes.",
            "此类模型的缓存无法续用，或提示词开头发生了变化。",
        ),
        (
            "Keep the start of the prompt unchanged, and use the full-size cache.",
            "请保持提示词开头不变，并使用完整大小的缓存。",
        ),
    ),
}
