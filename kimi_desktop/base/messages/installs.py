"""Engines installed into environments of their own."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "installs.phase.preparing": Text("Making the environment", "正在创建环境"),
    "installs.phase.fetching": Text("Fetching packages", "正在下载软件包"),
    "installs.phase.compiling": Text("Compiling, 10 to 20 minutes", "正在编译，需 10 到 20 分钟"),
    "installs.phase.proving": Text("Trying it", "正在试运行"),
    "installs.offer": Text(
        "{name} ({accelerator}): {size} to fetch, about {disk} on the disk, licence {licence}.",
        "{name}（{accelerator}）：需下载 {size}，约占用 {disk}，许可证 {licence}。",
    ),
    "installs.compiles": Text(
        "A part of it is compiled here, which takes 10 to 20 minutes and a C++ compiler.",
        "其中一部分需要在本机编译，约 10 到 20 分钟，并需要 C++ 编译器。",
    ),
    "installs.here": Text("{name}: {size} in {path}", "{name}：占用 {size}，位于 {path}"),
    "installs.begun": Text(
        "{name}: begun in {path}; installing it again goes on from there",
        "{name}：尚未完成，位于 {path}；再次安装会从此处继续",
    ),
    "installs.ask": Text("Install it? [y/N]", "要安装吗？[y/N]"),
    "installs.needs_yes": Text(
        "Nothing was installed: without a terminal to ask at, say --yes.",
        "没有安装任何内容：没有可供确认的终端时，请加上 --yes。",
    ),
    "installs.not_installed": Text("Nothing was installed.", "没有安装任何内容。"),
    "installs.kept": Text(
        "Stopped. What has come is kept: kimi-desktop engines install {engine} goes on.",
        "已停止。已下载的部分会保留：使用 kimi-desktop engines install {engine} 继续。",
    ),
    "installs.done": Text(
        "{name} is installed in {path} and used from now on.",
        "{name} 已安装到 {path}，今后将使用它。",
    ),
    "installs.none_for_system": Text(
        "There is no {engine} to install for this computer.", "没有可供本机安装的 {engine}。"
    ),
    "installs.none_for_system.next": Text(
        "Use GGUF files with llama.cpp, or install it by its own guide and point at its Python.",
        "请用 llama.cpp 运行 GGUF 文件，或按其官方指南安装后指定它的 Python。",
    ),
    "installs.none_here.llama-cpp-python": Text(
        "There is no list of packages of llama-cpp-python for this system. Install it by its own "
        "guide and point at its Python.",
        "没有适用于本系统的 llama-cpp-python 软件包列表。请按其官方指南安装，再指定它的 Python。",
    ),
    "installs.none_here.vllm": Text(
        "There is no vLLM to install for this system: it needs Linux on x86-64. On Windows it runs "
        "in WSL; on a Mac use GGUF files with llama.cpp.",
        "没有适用于本系统的 vLLM：它需要 x86-64 上的 Linux。Windows 可在 WSL 中运行；"
        "Mac 请用 llama.cpp 运行 GGUF 文件。",
    ),
    "installs.lacks_gpu.llama-cpp-python": Text(
        "It computes with the processor alone. For this computer’s GPUs set CMAKE_ARGS before the "
        "app starts (NVIDIA: -DGGML_CUDA=on, with the CUDA toolkit installed).",
        "默认只使用 CPU 计算。若要使用本机 GPU，请在启动应用前设置 CMAKE_ARGS"
        "（NVIDIA：-DGGML_CUDA=on，并需安装 CUDA 工具包）。",
    ),
    "installs.lacks_gpu.vllm": Text(
        "No version here is for this computer’s GPUs: they take NVIDIA cards from compute "
        "capability 7.0 on with a driver for CUDA 12.4 or newer. The one for the processor runs "
        "small models.",
        "没有适用于本机 GPU 的版本：需要计算能力 7.0 及以上的 NVIDIA 显卡和支持 CUDA 12.4 "
        "或更新版本的驱动。处理器版本可以运行小模型。",
    ),
    "installs.no_python": Text(
        "There is no Python {versions} on this computer to install it for.",
        "本机没有可用于安装的 Python {versions}。",
    ),
    "installs.no_python.next": Text(
        "Install one of these, or uv, which fetches a Python by itself.",
        "请安装其中一个版本，或安装会自行下载 Python 的 uv。",
    ),
    "installs.no_venv": Text(
        "Python {python} is here without its venv module.",
        "本机的 Python {python} 缺少 venv 模块。",
    ),
    "installs.no_venv.next": Text(
        "On Debian and Ubuntu: sudo apt-get install python3-venv. Or install uv.",
        "在 Debian 和 Ubuntu 上：sudo apt-get install python3-venv。也可以安装 uv。",
    ),
    "installs.no_network": Text(
        "The packages of {name} could not be fetched: their index cannot be reached.",
        "无法下载 {name} 的软件包：连接不上软件包索引。",
    ),
    "installs.no_network.next": Text(
        "Check the network and the proxy, then go on: what has come is kept.",
        "请检查网络和代理，然后继续：已下载的部分会保留。",
    ),
    "installs.no_wheel": Text(
        "There is no build of {package} for Python {python} on this system.",
        "{package} 没有适用于本系统 Python {python} 的版本。",
    ),
    "installs.no_wheel.next": Text(
        "Another Python helps if the index has a wheel for it; else install vLLM by its own "
        "guide and point at its Python.",
        "如果索引中有对应的 wheel，可换用其他 Python；否则请按 vLLM 官方指南安装，"
        "再指定它的 Python。",
    ),
    "installs.no_torch": Text(
        "The index does not have {package} built for the processor.",
        "索引中没有处理器版本的 {package}。",
    ),
    "installs.no_torch.next": Text(
        "Set {variable} to a folder or page that has its wheel, start the app again and go on.",
        "请将 {variable} 设为含有其 wheel 的文件夹或网页，重启应用后继续。",
    ),
    "installs.no_compiler": Text(
        "{name} is compiled here, and no C++ compiler was found.",
        "{name} 需要在本机编译，但找不到 C++ 编译器。",
    ),
    "installs.no_compiler.next": Text(
        "Debian, Ubuntu: sudo apt-get install build-essential. macOS: xcode-select --install. "
        "Windows: Visual Studio Build Tools with C++.",
        "Debian、Ubuntu：sudo apt-get install build-essential。macOS：xcode-select --install。"
        "Windows：安装含 C++ 的 Visual Studio Build Tools。",
    ),
    "installs.bad_hash": Text(
        "A package of {name} is not the one that its hash names; it was not installed.",
        "{name} 的某个软件包与其哈希不符，因此没有安装。",
    ),
    "installs.bad_hash.next": Text(
        "Try again; if it stays, the index or a proxy on the way changes files.",
        "请重试；如果仍然如此，说明索引或途中的代理改动了文件。",
    ),
    "installs.failed": Text(
        "{name} could not be installed: {detail}",
        "无法安装 {name}：{detail}",
    ),
    "installs.failed.next": Text(
        "Go on to try again: what has come is kept.",
        "点击继续可重试：已下载的部分会保留。",
    ),
}
