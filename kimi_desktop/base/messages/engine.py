"""Finding, starting, running and ending an engine."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "engine.not_in_python": Text(
        "{name} is not installed for {path}.",
        "{path} 对应的 Python 环境中没有安装 {name}。",
    ),
    "engine.not_in_python.next": Text(
        "In Settings, point at the Python of an environment that has {name}, or install it there.",
        "请在“设置”中指向装有 {name} 的环境的 Python，或在该环境中安装它。",
    ),
    "engine.too_old": Text(
        "{name} {version} is too old: {floor} is the first version that is safe to run.",
        "{name} {version} 版本过旧：{floor} 是第一个可以安全运行的版本。",
    ),
    "engine.too_old.next": Text(
        "Install {floor} or newer in that environment, or point at another one in Settings.",
        "请在该环境中安装 {floor} 或更新的版本，或在“设置”中指向其他环境。",
    ),
    "engine.no_plan": Text(
        "{name} does not fit the GPUs of this computer in any way that the engine can divide it.",
        "无论如何切分，{name} 都放不进本机的 GPU。",
    ),
    "engine.no_plan.next": Text(
        "The Plan page says what is missing. A GGUF file of the model can use RAM as well.",
        "“方案”页会说明缺少什么。该模型的 GGUF 文件还可以利用内存。",
    ),
    "engine.needs_consent": Text(
        "The model brings {count} Python files of its own that the engine would run"
        " ({first} and others).",
        "该模型自带 {count} 个 Python 文件，引擎会运行它们（如 {first}）。",
    ),
    "engine.needs_consent.next": Text(
        "Look at the files. If you trust them, allow them on the Plan page; a changed file asks"
        " again.",
        "请先查看这些文件。如果信任它们，请在“方案”页允许运行；文件有变动时会再次询问。",
    ),
    "engine.phase.program": Text("Starting Python", "正在启动 Python"),
    "engine.phase.config": Text("Reading the model's config", "正在读取模型配置"),
    "engine.phase.weights": Text("Loading weights", "正在加载权重"),
    "engine.phase.weights.count": Text(
        "Loading weights, part {done} of {total}", "正在加载权重，第 {done}/{total} 个分片"
    ),
    "engine.phase.compile": Text("Compiling", "正在编译"),
    "engine.phase.cache": Text("Setting up the KV cache", "正在分配 KV 缓存"),
    "engine.phase.graphs": Text("Capturing CUDA graphs", "正在捕获 CUDA 图"),
    "engine.phase.graphs.count": Text(
        "Capturing CUDA graphs, {done} of {total}", "正在捕获 CUDA 图，{done}/{total}"
    ),
    "engine.phase.warm_up": Text("Warming up", "正在预热"),
    "engine.not_found": Text(
        "The engine program {path} is not on this computer.",
        "本机上找不到引擎程序 {path}。",
    ),
    "engine.not_found.next": Text(
        "Choose another llama-server in Settings, or clear it there to use the built-in engine.",
        "请在“设置”中选择其他 llama-server，或清空该项以使用内置引擎。",
    ),
    "engine.not_executable": Text(
        "The engine program {path} cannot be run: {detail}.",
        "引擎程序 {path} 无法运行：{detail}。",
    ),
    "engine.not_executable.next": Text(
        "Make it executable or choose a build for this system; the built-in engine works, too.",
        "请为其添加可执行权限，或选择适合本系统的版本；也可以使用内置引擎。",
    ),
    "engine.start_failed": Text(
        "The engine ended before the model was loaded: {detail}",
        "模型尚未加载完成，引擎就已退出：{detail}",
    ),
    "engine.start_failed.next": Text(
        "The log has its last words. Start it again, or with other load settings.",
        "日志中保留了引擎最后的输出。请重新启动，或更换加载设置后再试。",
    ),
    "engine.exited": Text(
        "The engine ended by itself (exit code {code}).",
        "引擎自行退出（退出码 {code}）。",
    ),
    "engine.exited.next": Text(
        "What was written so far is kept. Restart the engine; the log shows its last words.",
        "已生成的内容已保留。请重新启动引擎；日志中有它最后的输出。",
    ),
    "engine.killed": Text(
        "The engine was ended from outside while it was running ({signal}).",
        "引擎在运行中被外部终止（{signal}）。",
    ),
    "engine.killed.next": Text(
        "What was written so far is kept. Restart the engine.",
        "已生成的内容已保留。请重新启动引擎。",
    ),
    "engine.killed_loading": Text(
        "The engine was ended while it was loading the model ({signal}).",
        "引擎在加载模型时被终止（{signal}）。",
    ),
    "engine.killed_loading.next": Text(
        "Start it again. If it happens again, load with less memory or another build.",
        "请重新启动。如果再次出现，请减少内存占用或更换引擎版本。",
    ),
    "engine.out_of_memory": Text(
        "There is not enough memory for these load settings: {detail}",
        "内存或显存不足，无法按当前设置加载：{detail}",
    ),
    "engine.out_of_memory.next": Text(
        "Keep more experts in RAM, put fewer layers on the GPU, or choose a shorter context.",
        "请将更多专家层留在内存、减少 GPU 层数，或缩短上下文。",
    ),
    "engine.bad_model": Text(
        "The engine cannot load {path}: {detail}",
        "引擎无法加载 {path}：{detail}",
    ),
    "engine.bad_model.next": Text(
        "Check or download the file again. A newer engine may know a newer model.",
        "请校验或重新下载该文件。较新的模型可能需要更新的引擎。",
    ),
    "engine.wrong_cpu": Text(
        "{path} is built for another processor: it uses instructions that this one lacks.",
        "{path} 是为其他处理器编译的：它使用了本机 CPU 不支持的指令。",
    ),
    "engine.wrong_cpu.next": Text(
        "Choose a build for this processor, or the built-in engine, which runs on all of them.",
        "请选择适合本机 CPU 的版本，或使用可在各种 CPU 上运行的内置引擎。",
    ),
    "engine.missing_library": Text(
        "{path} needs a library that is not on this computer: {library}.",
        "{path} 需要本机上没有的库：{library}。",
    ),
    "engine.missing_library.next": Text(
        "Install it with the system’s packages, or choose another build (Vulkan, CPU).",
        "请通过系统软件包安装它，或选择其他版本（Vulkan、CPU）。",
    ),
    "engine.old_system": Text(
        "{path} is built for a newer system than this one: it asks for {library}.",
        "{path} 是为更新的系统编译的：它需要 {library}。",
    ),
    "engine.old_system.next": Text(
        "Choose an older version of it, build llama.cpp on this computer, or use the built-in one.",
        "请选择较旧的版本、在本机编译 llama.cpp，或使用内置引擎。",
    ),
    "engine.port_taken": Text(
        "The engine could not listen, because another program holds its address: {detail}",
        "引擎无法监听，地址已被其他程序占用：{detail}",
    ),
    "engine.port_taken.next": Text(
        "Start it again: it takes another address. End the other program if it is a leftover.",
        "请重新启动，引擎会换用其他地址。如果占用者是残留进程，请将其结束。",
    ),
    "engine.bad_argument": Text(
        "The engine does not accept a setting: {detail}",
        "引擎不接受某项设置：{detail}",
    ),
    "engine.bad_argument.next": Text(
        "Remove it from the extra flags, or use a newer engine.",
        "请从附加参数中移除该项，或使用更新的引擎。",
    ),
    "engine.not_ready": Text(
        "The engine says that it is ready, but has not answered for {seconds} s.",
        "引擎报告已就绪，但 {seconds} 秒内没有响应。",
    ),
    "engine.not_ready.next": Text(
        "Start it again; the log shows what it was doing.",
        "请重新启动；日志中记录了它当时的状态。",
    ),
    "engine.busy": Text(
        "The engine is just starting or ending.",
        "引擎正在启动或停止。",
    ),
    "engine.busy.next": Text(
        "Wait a moment, then try again.",
        "请稍候再试。",
    ),
}
