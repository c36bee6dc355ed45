"""Official builds of engines: offered, fetched, unpacked, kept."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "builds.none_here": Text(
        "{host} has no llama.cpp build for this system ({system}).",
        "{host} 没有适用于本系统（{system}）的 llama.cpp 版本。",
    ),
    "builds.none_here.next": Text(
        "The built-in llama.cpp works without one. For GPUs, build llama.cpp on this computer "
        "(cmake -B build -DGGML_VULKAN=ON or -DGGML_CUDA=ON) and choose its llama-server in "
        "Settings.",
        "内置的 llama.cpp 无需额外版本即可使用。要使用 GPU，请在本机编译 llama.cpp"
        "（cmake -B build -DGGML_VULKAN=ON 或 -DGGML_CUDA=ON），"
        "再到“设置”中选择编译出的 llama-server。",
    ),
    "builds.no_release": Text(
        "{host} has no llama.cpp release called {tag}.",
        "{host} 上没有名为 {tag} 的 llama.cpp 发布版本。",
    ),
    "builds.no_release.next": Text(
        "Releases are named like b11549; leave the name out for the newest one.",
        "发布版本的名称形如 b11549；留空则使用最新版本。",
    ),
    "builds.no_checksum": Text(
        "{host} lists no checksum for {file}, so it cannot be proven and was not fetched.",
        "{host} 没有列出 {file} 的校验值，无法校验，因此没有下载。",
    ),
    "builds.no_checksum.next": Text(
        "Choose a newer version.",
        "请选择较新的版本。",
    ),
    "builds.bad_archive": Text(
        "{file} is not an archive that can be unpacked safely: {detail}.",
        "无法安全解压 {file}：{detail}。",
    ),
    "builds.bad_archive.next": Text(
        "Nothing of it was kept. Choose another version.",
        "没有保留其中任何内容。请选择其他版本。",
    ),
    "builds.unknown": Text(
        "There is no build {build} here.",
        "本机没有版本 {build}。",
    ),
    "builds.unknown.next": Text(
        "kimi-desktop engine list shows those that are here.",
        "使用 kimi-desktop engine list 查看本机已有的版本。",
    ),
    "builds.in_use": Text(
        "{build} is running now.",
        "{build} 正在运行。",
    ),
    "builds.in_use.next": Text(
        "Stop the engine, then remove it.",
        "请先停止引擎，再删除它。",
    ),
    "builds.no_such_kind": Text(
        "The release has no {kind} build for this system.",
        "该发布没有适用于本系统的 {kind} 版本。",
    ),
    "builds.no_such_kind.next": Text(
        "It has: {known}.",
        "可用的有：{known}。",
    ),
    "builds.offer": Text(
        "{build}: {accelerator}, {size}, licence {licence}, from {host}",
        "{build}：{accelerator}，{size}，许可证 {licence}，来自 {host}",
    ),
    "builds.here": Text(
        "{build}: {accelerator}, {size} on the disk", "{build}：{accelerator}，占用 {size}"
    ),
    "builds.in_use_mark": Text("{line} (in use)", "{line}（使用中）"),
    "builds.none_installed": Text(
        "No official build is here. kimi-desktop engine look shows what there is.",
        "本机没有官方版本。使用 kimi-desktop engine look 查看可下载的版本。",
    ),
    "builds.installed": Text("{build} is ready and in use: {path}", "{build} 已就绪并启用：{path}"),
    "builds.installed_unused": Text(
        "{build} is here, but not in use.", "{build} 已下载，但未启用。"
    ),
    "builds.used": Text(
        "{build} is used when the engine is started the next time.",
        "下次启动引擎时将使用 {build}。",
    ),
    "builds.removed": Text("{build} is removed.", "已删除 {build}。"),
    "builds.embedded": Text("The llama.cpp that comes with the app", "随应用提供的 llama.cpp"),
    "builds.phase.downloading": Text("downloading", "正在下载"),
    "builds.phase.checking": Text("checking", "正在校验"),
    "builds.phase.unpacking": Text("unpacking", "正在解压"),
    "builds.phase.probing": Text("trying it", "正在试运行"),
    "builds.accelerator.cuda": Text("CUDA (NVIDIA)", "CUDA（NVIDIA）"),
    "builds.accelerator.hip": Text("ROCm (AMD)", "ROCm（AMD）"),
    "builds.accelerator.vulkan": Text("Vulkan (any GPU)", "Vulkan（各种 GPU）"),
    "builds.accelerator.metal": Text("Metal (Apple)", "Metal（Apple）"),
    "builds.accelerator.cpu": Text("CPU only", "仅 CPU"),
    "builds.lacks_cuda": Text(
        "This release has no CUDA build that fits this system and driver. The Vulkan build uses "
        "the same GPU, somewhat slower; for CUDA, build llama.cpp here "
        "(cmake -B build -DGGML_CUDA=ON) and choose its llama-server.",
        "该发布没有适合本系统和驱动的 CUDA 版本。Vulkan 版本可使用同一块 GPU，速度略慢；"
        ""
        "若需要 CUDA，请在本机编译 llama.cpp（cmake -B build -DGGML_CUDA=ON）"
        "并选择其 llama-server。",
    ),
    "builds.lacks_vulkan": Text(
        "It needs the system’s Vulkan loader, which is not installed (Debian and Ubuntu: "
        "libvulkan1 and the driver of the GPU).",
        "它需要系统的 Vulkan 加载库，而本机尚未安装"
        "（Debian 和 Ubuntu：libvulkan1 以及 GPU 驱动）。",
    ),
    "builds.sees_no_gpu": Text(
        "It runs, but finds no GPU.",
        "它可以运行，但没有找到 GPU。",
    ),
    "builds.sees_no_gpu_lacking": Text(
        "It runs, but finds no GPU: {library} is missing.",
        "它可以运行，但没有找到 GPU：缺少 {library}。",
    ),
}
