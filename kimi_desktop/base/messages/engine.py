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
        "Look at the files. If you trust them, allow them on the Plan page or with"
        " --trust-remote-code; a changed file asks again.",
        "请先查看这些文件。如果信任它们，请在“方案”页或用 --trust-remote-code 允许运行；"
        "文件有变动时会再次询问。",
    ),
    "engine.no_sandbox": Text(
        "There is no sandbox on this system that the engine could run in.",
        "此系统没有可供引擎使用的沙盒。",
    ),
    "engine.no_sandbox.next": Text(
        "Install bubblewrap (Linux; it needs user namespaces), or start without the sandbox.",
        "请安装 bubblewrap（Linux，需要用户命名空间），或不使用沙盒启动。",
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
    "engine.said_nothing": Text(
        "The engine ended before the model was loaded, without a word ({detail}).",
        "模型尚未加载完成，引擎就已退出，且没有任何输出（{detail}）。",
    ),
    "engine.said_nothing.next": Text(
        "Start it again, or with other load settings; another build may say more.",
        "请重新启动，或更换加载设置后再试；其他版本可能会给出更多信息。",
    ),
    "engine.not_begun": Text(
        "The engine could not be started: {detail}",
        "无法启动引擎：{detail}",
    ),
    "engine.not_begun.next": Text(
        "Mend what is named here and start it again.",
        "请解决上述问题后重新启动。",
    ),
    "engine.not_one": Text(
        "{path} is not a llama-server. Asked for its help, it answered: {detail}",
        "{path} 不是 llama-server。查询其帮助时，它的回答是：{detail}",
    ),
    "engine.not_one.next": Text(
        "Choose the llama-server of a llama.cpp build in Settings, or clear it there to use the "
        "built-in engine.",
        "请在“设置”中选择 llama.cpp 构建中的 llama-server，或清空该项以使用内置引擎。",
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
    "engine.flag_unknown": Text(
        "{engine} does not know the argument {flag}.",
        "{engine} 不认识参数 {flag}。",
    ),
    "engine.flag_unknown.next": Text(
        "Look for a slip of the pen, or for its name in this version (llama-server --help).",
        "请检查是否有拼写错误，或在此版本中的名称（llama-server --help）。",
    ),
    "engine.flag_forbidden": Text(
        "The argument {flag} would open the engine to others or log prompts.",
        "参数 {flag} 会使引擎对外开放，或记录提示词。",
    ),
    "engine.flag_forbidden.next": Text(
        "Remove it. To let other programs in, use the Serve page.",
        "请删除它。要让其他程序访问，请使用“服务”页面。",
    ),
    "engine.flag_conflict": Text(
        "The argument {flag} conflicts with {other}.",
        "参数 {flag} 与 {other} 冲突。",
    ),
    "engine.flag_conflict.next": Text(
        "Remove it, or change the setting on the Plan page that says the other.",
        "请删除它，或在“规划”页面修改与之冲突的设置。",
    ),
    "engine.flag_lacks": Text(
        "{flag} needs {other}, too.",
        "{flag} 还需要 {other}。",
    ),
    "engine.flag_lacks.next": Text(
        "Choose a draft model, or another way of guessing ahead.",
        "请选择草稿模型，或更换推测方式。",
    ),
    "engine.flag_quotes": Text(
        "A quotation mark is left open in the extra arguments.",
        "附加参数中的引号没有闭合。",
    ),
    "engine.flag_quotes.next": Text(
        "Close it, or put a backslash before it.",
        "请补全引号，或在其前面加反斜杠。",
    ),
    "engine.cannot": Text(
        "{engine} cannot do what {flag} does in llama-server.",
        "{engine} 无法实现 llama-server 中 {flag} 的功能。",
    ),
    "engine.cannot.next": Text(
        "Choose llama-server or the embedded engine in Settings, or change this on the Plan page.",
        "请在“设置”中改用 llama-server 或内置引擎，或在“规划”页面修改该项。",
    ),
    "engine.does_without": Text(
        "{engine} answers without {flag}, which it does not have.",
        "{engine} 没有 {flag}，因此不使用该项。",
    ),
    "engine.does_without.next": Text(
        "Requests are answered one after the other. llama-server and the embedded engine can do "
        "more.",
        "请求将逐个回答。llama-server 和内置引擎支持更多功能。",
    ),
    "engine.loaded_no_gpu": Text(
        "The plan puts layers on GPUs, but the engine holds nothing on any of them.",
        "计划将部分层放到 GPU 上，但引擎没有使用任何 GPU。",
    ),
    "engine.loaded_no_gpu.next": Text(
        "Its build may lack GPU support, or a driver: get an official build in Settings.",
        "该版本可能不支持 GPU，或缺少驱动：可在“设置”中获取官方版本。",
    ),
    "engine.loaded_layers": Text(
        "The engine has {loaded} layers on GPUs; the plan says {planned}.",
        "引擎实际放到 GPU 的层数为 {loaded}，计划为 {planned}。",
    ),
    "engine.loaded_layers.next": Text(
        "Speed and memory will differ from the forecast. Look for extra arguments, or another "
        "version of the engine.",
        "速度和内存会与预测不同。请检查附加参数，或更换引擎版本。",
    ),
    "engine.loaded_context": Text(
        "The engine has a context of {loaded} tokens; the plan says {planned}.",
        "引擎实际的上下文为 {loaded} 词元，计划为 {planned}。",
    ),
    "engine.loaded_context.next": Text(
        "Longer chats are cut there. Look for extra arguments, or choose less context.",
        "更长的对话会在该处被截断。请检查附加参数，或减少上下文。",
    ),
    "engine.loaded_memory": Text(
        "On {device} the engine holds {loaded}; the forecast says {planned}.",
        "引擎在 {device} 上占用 {loaded}，预测为 {planned}。",
    ),
    "engine.loaded_memory.next": Text(
        "A projector, a draft model or an adapter is not in the forecast. If something runs short, "
        "put fewer layers there.",
        "预测不包含投影器、草稿模型和适配器。如果内存不足，请减少放到该设备的层数。",
    ),
    "engine.first_empty": Text(
        "The first try after loading brought an empty answer.",
        "加载后的首次试问得到了空回答。",
    ),
    "engine.first_empty.next": Text(
        "Look first at the chat template (Plan, Engine options), then at the file: verify it.",
        "请先检查聊天模板（“规划”页的引擎选项），再校验模型文件。",
    ),
    "engine.first_repeats": Text(
        "The first try after loading brought one character again and again: {text}",
        "加载后的首次试问只得到重复的同一字符：{text}",
    ),
    "engine.first_repeats.next": Text(
        "Look first at the KV type (now {cache}; f16 is the safe one), then at the engine’s build, "
        "then at the file: verify it.",
        "请先检查 KV 类型（当前 {cache}，f16 最稳妥），再更换引擎版本，最后校验模型文件。",
    ),
    "engine.first_template": Text(
        "The first try after loading shows markers of a chat template: {text}",
        "加载后的首次试问中出现了聊天模板标记：{text}",
    ),
    "engine.first_template.next": Text(
        "The template does not fit the model: choose its own one (Plan, Engine options).",
        "模板与模型不匹配：请改用模型自带的模板（“规划”页的引擎选项）。",
    ),
    "engine.first_gibberish": Text(
        "The first try after loading brought nonsense: {text}",
        "加载后的首次试问得到了无意义的内容：{text}",
    ),
    "engine.first_gibberish.next": Text(
        "Look first at the file (verify it), then at the KV type (now {cache}), the chat template "
        "and the engine’s build.",
        "请先校验模型文件，再检查 KV 类型（当前 {cache}）、聊天模板和引擎版本。",
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
