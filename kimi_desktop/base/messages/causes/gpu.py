"""B: GPU and driver."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "gpu_not_found",
        ("The engine finds no usable GPU.", "引擎找不到可用的 GPU。"),
        (
            "The driver is not loaded, the card is hidden from the engine, or a container may not "
            "use it.",
            "驱动未加载、显卡对引擎不可见，或容器无权使用显卡。",
        ),
        (
            "Make the card visible to nvidia-smi, or run on the processor until then.",
            "请先让 nvidia-smi 能看到显卡；在此之前可用处理器运行。",
        ),
    ),
    **cause(
        "engine_built_without_gpu",
        ("This engine has no GPU support.", "该引擎不含 GPU 支持。"),
        ("It is the processor-only build.", "这是仅支持处理器的版本。"),
        ("Install the GPU build.", "请安装 GPU 版本。"),
    ),
    **cause(
        "driver_too_old",
        (
            "The GPU driver is older than the engine needs.",
            "显卡驱动版本低于引擎的要求。",
        ),
        (
            "The engine was built for a newer CUDA than the driver knows.",
            "引擎使用的 CUDA 版本比驱动支持的更新。",
        ),
        (
            "Update the driver, or take an engine for the older CUDA.",
            "请更新驱动，或改用面向旧版 CUDA 的引擎。",
        ),
    ),
    **cause(
        "driver_not_ready",
        ("The GPU driver is not ready.", "显卡驱动尚未就绪。"),
        (
            "Its parts have different versions, or a service of it has not started.",
            "驱动各部分版本不一致，或其某项服务没有启动。",
        ),
        (
            "Restart the computer; on HGX machines start nvidia-fabricmanager.",
            "请重启电脑；HGX 机器需要启动 nvidia-fabricmanager。",
        ),
    ),
    **cause(
        "gpu_arch_unsupported",
        (
            "The engine has no code for this generation of GPU.",
            "引擎不含适用于该代显卡的代码。",
        ),
        (
            "The build is older than the card, or has dropped it.",
            "引擎版本早于该显卡，或已不再支持它。",
        ),
        (
            "Take a build that lists this GPU's generation.",
            "请改用支持该代显卡的版本。",
        ),
    ),
    **cause(
        "precision_unsupported_on_gpu",
        (
            "This GPU cannot compute with this number format.",
            "该显卡不支持这种数值格式。",
        ),
        (
            "The quantization or the data type needs a newer card.",
            "该量化或数据类型需要更新的显卡。",
        ),
        (
            "Take another quantization, or half precision.",
            "请选择其他量化，或使用半精度。",
        ),
    ),
    **cause(
        "gpu_selection_invalid",
        (
            "The chosen GPU or the way of splitting does not exist here.",
            "所选的 GPU 或切分方式在本机不存在。",
        ),
        (
            "A device name is wrong, there are more shares than cards, or the mode is unsupported.",
            "设备名有误、份额多于显卡数，或不支持该切分模式。",
        ),
        (
            "Choose from the devices that the engine lists, and split by layers.",
            "请从引擎列出的设备中选择，并按层切分。",
        ),
    ),
    **cause(
        "gpu_lost_or_faulty",
        ("The GPU stopped answering.", "显卡失去响应。"),
        (
            "It was reset, hung or fell off the bus: heat, power, a fault, or one step that took "
            "too long.",
            "显卡被重置、卡死或掉线：可能是过热、供电、硬件故障，或单步计算过久。",
        ),
        (
            "Restart the computer; then use smaller batches and fewer layers, and check power and "
            "cooling.",
            "请重启电脑；之后使用更小的批次和更少的层数，并检查供电与散热。",
        ),
    ),
    **cause(
        "parallel_size_invalid",
        (
            "This number of GPUs does not fit the model or the machine.",
            "GPU 数量与模型或本机不匹配。",
        ),
        (
            "The attention heads cannot be shared evenly, or there are fewer cards than asked for.",
            "注意力头无法平均分配，或显卡数少于所要求的数量。",
        ),
        (
            "Choose a tensor parallel size that divides the heads, at most the number of cards.",
            "请选择能整除注意力头数、且不超过显卡数的张量并行大小。",
        ),
    ),
    **cause(
        "nccl_hang",
        ("The GPUs wait for each other and do not go on.", "多块显卡互相等待，无法继续。"),
        (
            "They cannot reach each other directly: a virtual machine, IOMMU, or a wrong network.",
            "显卡之间无法直接通信：可能是虚拟机、IOMMU，或网络接口不对。",
        ),
        (
            "Switch direct access off (NCCL_P2P_DISABLE=1) and start again.",
            "请关闭直接访问（NCCL_P2P_DISABLE=1）后重新启动。",
        ),
    ),
    **cause(
        "shm_too_small",
        (
            "The shared memory of the system is too small for several GPUs.",
            "系统共享内存过小，不足以支持多块显卡。",
        ),
        (
            "Containers get 64 MiB by default, or old segments fill it.",
            "容器默认只有 64 MiB，或旧的共享内存段占满了空间。",
        ),
        (
            "Start the container with more (--shm-size=16g), or clear what was left behind.",
            "请为容器分配更多（--shm-size=16g），或清理残留内容。",
        ),
    ),
}
