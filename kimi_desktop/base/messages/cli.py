"""What the verbs print."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "cli.about": Text(
        "Run giant open models on this machine. Without a verb the window opens.",
        "在本机运行超大开源模型。不带子命令时打开窗口。",
    ),
    "cli.verbs": Text("verbs", "子命令"),
    "cli.json": Text(
        "print JSON: one object, or one line per event", "输出 JSON：一个对象，或每个事件一行"
    ),
    "cli.lang": Text("language of the texts: en or zh_CN", "文字语言：en 或 zh_CN"),
    "cli.model": Text(
        "a model’s name, a part of it, or a file (default: the last one used)",
        "模型名称、名称的一部分，或文件路径（默认：上次使用的模型）",
    ),
    "cli.doctor": Text("look at this machine", "检查本机硬件"),
    "cli.doctor.measure": Text(
        "measure memory, disk and GPU links first (some three seconds each)",
        "先测量内存、磁盘与 GPU 链路的带宽（各约 3 秒）",
    ),
    "cli.models": Text("list the local models", "列出本地模型"),
    "cli.plan": Text(
        "say where a model goes on this machine, and how fast it will be",
        "说明模型在本机如何放置、速度如何",
    ),
    "cli.plan.machine": Text(
        "plan for the machine in this file (as doctor --json writes it)",
        "为此文件描述的机器规划（doctor --json 的输出）",
    ),
    "cli.plan.profile": Text("what matters most (default: safe)", "侧重点（默认：safe）"),
    "cli.plan.model": Text(
        "a file, a local name, a catalogue name (kimi-k2.6, kimi-k2.6:UD-Q2_K_XL), owner/name, "
        "or the address of a model on a hub",
        "文件、本机模型名、目录中的名称（kimi-k2.6、kimi-k2.6:UD-Q2_K_XL）、“所有者/名称”，"
        "或模型平台上的地址",
    ),
    "cli.plan.ngl": Text(
        "layers on GPUs, the output included (default: the planner’s choice)",
        "放在 GPU 上的层数，含输出层（默认：由规划器决定）",
    ),
    "cli.plan.n_cpu_moe": Text(
        "layers whose experts stay in RAM (default: the planner’s choice)",
        "专家留在内存的层数（默认：由规划器决定）",
    ),
    "cli.plan.parallel": Text(
        "requests at once (slots), which share the context", "同时处理的请求数（槽位），共用上下文"
    ),
    "cli.plan.cache_type": Text(
        "type of the cache, of K and V alike: f16, q8_0, ...", "缓存类型，K 与 V 相同：f16、q8_0 等"
    ),
    "cli.plan.batch": Text("tokens of a batch at most", "一个批次最多的词元数"),
    "cli.plan.ubatch": Text(
        "tokens of a prompt that are computed at once", "提示词一次计算的词元数"
    ),
    "cli.plan.check": Text(
        "have llama.cpp itself say what the plan would hold (nothing is loaded)",
        "让 llama.cpp 自己计算该方案的显存与内存占用（不加载模型）",
    ),
    "cli.plan.engine": Text(
        "llama.cpp, vllm or sglang (default: llama.cpp, or vllm for a Hugging Face folder)",
        "llama.cpp、vllm 或 sglang（默认：llama.cpp；Hugging Face 格式的文件夹默认 vllm）",
    ),
    "cli.plan.users": Text(
        "with vllm or sglang: users at once, each with the whole context",
        "使用 vllm 或 sglang 时：同时使用的人数，每人都有完整上下文",
    ),
    "cli.plan.tp": Text(
        "with vllm or sglang: GPUs that share every layer (tensor parallel)",
        "使用 vllm 或 sglang 时：共同承担每一层的 GPU 数（张量并行）",
    ),
    "cli.plan.pp": Text(
        "with vllm or sglang: groups of GPUs, each with a run of layers (pipeline parallel)",
        "使用 vllm 或 sglang 时：GPU 组数，每组承担连续的若干层（流水线并行）",
    ),
    "cli.plan.ctx": Text(
        "context in tokens (default: what fits well)", "上下文词元数（默认：合适的值）"
    ),
    "cli.download": Text(
        "download a model from a hub and prove every byte",
        "从模型站下载模型，并校验每个字节",
    ),
    "cli.download.repo": Text(
        "owner/name, owner/name@revision:QUANTIZATION, or the address of a hub’s page",
        "owner/name、owner/name@版本:量化，或模型页面的网址",
    ),
    "cli.download.include": Text(
        "only files that fit this pattern (may be given several times)",
        "只下载符合此模式的文件（可多次指定）",
    ),
    "cli.download.source": Text(
        "ask this hub only: huggingface, hf-mirror, modelscope, or an address",
        "只使用此来源：huggingface、hf-mirror、modelscope 或网址",
    ),
    "cli.download.to": Text(
        "the models folder (default: the app’s own)", "模型文件夹（默认：应用自己的）"
    ),
    "cli.verify": Text(
        "read a model on the disk again and name every part that is wrong",
        "重新读取磁盘上的模型，逐个指出有问题的分片",
    ),
    "cli.verify.path": Text("a model’s folder, or a file of it", "模型文件夹，或其中的文件"),
    "cli.verify.repair": Text(
        "put right what is wrong: rename swapped parts, fetch only bad ranges",
        "修复问题：改正互换的文件名，只重新获取损坏的部分",
    ),
    "cli.import": Text(
        "take in models that are on this computer already, checked and linked, not copied",
        "导入本机已有的模型：校验后链接，不复制",
    ),
    "cli.import.path": Text(
        "a file, a folder, or another program’s models folder (Hugging Face, ModelScope, "
        "LM Studio, Jan, Ollama); without it, what their usual places hold is listed",
        "文件、文件夹，或其他程序的模型文件夹（Hugging Face、ModelScope、LM Studio、Jan、Ollama）；"
        "不指定时列出它们常用位置中的模型",
    ),
    "cli.import.ollama": Text(
        "the file behind a model of Ollama's list, as gemma3:270m",
        "Ollama 列表中某个模型的文件，例如 gemma3:270m",
    ),
    "cli.import.to": Text(
        "the models folder to link into (default: the app’s own)",
        "链接到哪个模型文件夹（默认：应用自己的）",
    ),
    "cli.engine": Text(
        "official llama.cpp builds: list, look, get, use, remove",
        "官方 llama.cpp 版本：list、look、get、use、remove",
    ),
    "cli.engines": Text(
        "engines: which are here and which can be installed; install one",
        "引擎：查看本机已有的和可安装的引擎，或安装其中一个",
    ),
    "cli.engines.action": Text("list or install", "list 列出，install 安装"),
    "cli.engines.name": Text(
        "of the engine to install: vllm, llama-cpp-python or llama.cpp",
        "要安装的引擎：vllm、llama-cpp-python 或 llama.cpp",
    ),
    "cli.engines.yes": Text("install without asking", "不询问，直接安装"),
    "cli.engine.action": Text(
        "list those that are here, look at what there is, get one, use or remove one",
        "list 列出本机已有版本，look 查看可下载的版本，get 下载，use 切换，remove 删除",
    ),
    "cli.engine.name": Text(
        "look, get: a release (b11549; default: the newest); use, remove: a build of the list; "
        "use embedded: the llama.cpp that comes with the app",
        "look、get：发布版本（如 b11549，默认最新）；use、remove：列表中的版本；"
        "use embedded：随应用提供的 llama.cpp",
    ),
    "cli.engine.build": Text(
        "cuda, vulkan, hip, metal or cpu instead of what suits this machine",
        "指定 cuda、vulkan、hip、metal 或 cpu，而不是自动选择",
    ),
    "cli.endpoint": Text(
        "servers that somebody else runs (vLLM, SGLang, llama.cpp, Ollama, any OpenAI API): list, "
        "check, add, remove",
        "由他人运行的服务器（vLLM、SGLang、llama.cpp、Ollama、任意 OpenAI 接口）："
        "list、check、add、remove",
    ),
    "cli.endpoint.action": Text(
        "list those that are known, check one and show its models, add or remove one",
        "list 列出已知服务器，check 检查并显示其模型，add 添加，remove 移除",
    ),
    "cli.endpoint.name": Text("what you call it", "服务器名称"),
    "cli.endpoint.url": Text(
        "add: the address of its API, as http://192.168.1.5:8000/v1",
        "add：API 地址，如 http://192.168.1.5:8000/v1",
    ),
    "cli.endpoint.key": Text(
        "add: ask for its API key (or read it from standard input); it goes into the system's "
        "keyring",
        "add：询问 API 密钥（或从标准输入读取），密钥存入系统钥匙串",
    ),
    "cli.endpoint.key_file": Text(
        "where there is no keyring, keep the key in a private file",
        "没有钥匙串时，将密钥存入私有文件",
    ),
    "cli.at_endpoint": Text(
        "a model of this server instead (see endpoint list); MODEL is its name there",
        "改用此服务器上的模型（见 endpoint list）；MODEL 为其在该服务器上的名称",
    ),
    "cli.not_with_endpoint": Text(
        "--profile and --ctx are for engines of this machine; {name} has settings of its own.",
        "--profile 和 --ctx 只用于本机引擎；{name} 有自己的设置。",
    ),
    "cli.diagnose": Text(
        "say why a run failed, was slow or wrote nonsense; or why an engine failed, from its log",
        "说明一次运行为何失败、变慢或胡言乱语；或根据日志说明引擎为何失败",
    ),
    "cli.diagnose.log": Text(
        "a log, a saved diagnosis, - for standard input, or the number of a run as the verb runs"
        " shows it (run:12 where a file is called 12); without it the newest run that failed",
        "日志文件、已保存的诊断文件、- 表示标准输入，或 runs 列出的运行编号"
        "（若有名为 12 的文件，请写 run:12）；省略时为最近一次失败的运行",
    ),
    "cli.runs": Text(
        "list the runs of engines: what was measured, and how they ended",
        "列出引擎的运行记录：测得的数据与结束方式",
    ),
    "cli.runs.limit": Text("so many of them (default: 20)", "显示条数（默认：20）"),
    "cli.runs.none": Text("No model was started yet.", "还没有启动过模型。"),
    "cli.runs.columns": Text(
        "Run|Started|Model|Engine|Decode|Load|Outcome|Note",
        "编号|开始时间|模型|引擎|生成|加载|结束方式|备注",
    ),
    "cli.runs.number": Text("Run {run}", "运行 {run}"),
    "cli.runs.running": Text("Running", "运行中"),
    "cli.runs.stopped": Text("Stopped", "已停止"),
    "cli.runs.failed": Text("Failed", "失败"),
    "cli.runs.lost": Text("The app ended in the middle", "应用中途退出"),
    "cli.chat": Text("talk to a local model", "与本地模型对话"),
    "cli.chat.prompt": Text("ask this and leave", "提出这个问题，回答后退出"),
    "cli.bench": Text(
        "measure this machine: one setting value by value, or several users at once",
        "测试本机性能：逐个取值改变一项设置，或模拟多个用户同时使用",
    ),
    "cli.bench.vary": Text(
        "change one of threads, ubatch, cache, experts, layers, context",
        "改变其中一项：threads、ubatch、cache、experts、layers、context",
    ),
    "cli.bench.users": Text(
        "so many users at once (default: 1,2,4,8,16,32)", "同时使用的用户数（默认：1,2,4,8,16,32）"
    ),
    "cli.bench.compare": Text(
        "put the newest stored measurement of users at once with another engine beside it; ENGINE"
        " is a part of its name (vllm, llama.cpp)",
        "并列显示之前用其他引擎测得的多用户数据（取最新一次）；ENGINE 为引擎名称的一部分"
        "（vllm、llama.cpp）",
    ),
    "cli.bench.another_engine": Text("another engine", "其他引擎"),
    "cli.bench.columns": Text("Users|Together|Per user|First token", "用户数|合计|每用户|首字延迟"),
    "cli.bench.head": Text(
        "{model}: prompts of about 512 tokens, answers of 64",
        "{model}：提示词约 512 个词元，回答 64 个词元",
    ),
    "cli.bench.prefill": Text("prefill {value} tok/s", "预填充 {value} 词元/秒"),
    "cli.bench.decode": Text("decode {value} tok/s", "生成 {value} 词元/秒"),
    "cli.bench.first": Text("first token {value} s", "首字延迟 {value} 秒"),
    "cli.bench.load": Text("load {value} s", "加载 {value} 秒"),
    "cli.leftover_ended": Text(
        "An engine of an earlier run was still running ({model}, process {pid}); it was ended.",
        "之前运行留下的引擎仍在运行（{model}，进程 {pid}），已将其结束。",
    ),
    "cli.serve": Text(
        "offer a model to other programs on this machine, OpenAI-compatible",
        "以 OpenAI 兼容接口向本机其他程序提供模型",
    ),
    "cli.serve.port": Text("the port on 127.0.0.1", "127.0.0.1 上的端口"),
    "cli.serve.lan": Text(
        "also in the local network, at this address of the machine (default: its first one)",
        "同时向局域网开放，使用本机的此地址（默认：第一个）",
    ),
    "cli.serve.tls": Text(
        "encrypt what goes over the local network (--no-tls: no longer)",
        "加密局域网传输（--no-tls：不再加密）",
    ),
    "cli.serve.certificate": Text(
        "Certificate for programs on other machines: {path}\nSHA-256: {fingerprint}",
        "供其他机器上的程序信任的证书：{path}\nSHA-256：{fingerprint}",
    ),
    "cli.serve.unit": Text(
        "write a systemd user unit with these options instead of serving now",
        "不立即启动，而是用这些选项写入 systemd 用户单元",
    ),
    "cli.serve.unit_written": Text(
        "Wrote {path}. Start it with: systemctl --user daemon-reload && "
        "systemctl --user enable --now {name}",
        "已写入 {path}。启动命令：systemctl --user daemon-reload && "
        "systemctl --user enable --now {name}",
    ),
    "cli.serve.ready": Text("{model} answers at {url}", "{model} 的服务地址：{url}"),
    "cli.serve.key": Text("Key: {api_key}", "密钥：{api_key}"),
    "cli.serve.key_hidden": Text(
        "The key is not written here: kimi-desktop clients show",
        "此处不输出密钥：kimi-desktop clients show",
    ),
    "cli.serve.open": Text(
        "OPEN TO THE LOCAL NETWORK at {address}, until this ends.",
        "已向局域网开放（{address}），直到结束为止。",
    ),
    "cli.serve.plain": Text(
        "What is sent is not encrypted, so that others in the network may read it (--tls).",
        "传输内容未加密，网络中的其他人可能读取（可加 --tls）。",
    ),
    "cli.serve.unit_previous": Text(
        "Another unit of this name was there; it is kept as {path}.",
        "原有的同名单元已保留为 {path}。",
    ),
    "cli.serve.unit_open": Text(
        "It opens the endpoint to the local network at {address} whenever it runs.",
        "该单元运行时会在 {address} 向局域网开放接口。",
    ),
    "cli.clients": Text(
        "programs that may use what is served: list, show, add, revoke, renew",
        "可使用所提供接口的程序：list、show、add、revoke、renew",
    ),
    "cli.clients.action": Text(
        "list the names, show one key, add a program with a key of its own, revoke it, or renew "
        "your own key",
        "list 列出名称，show 显示密钥，add 添加程序及其密钥，revoke 撤销，renew 更换默认密钥",
    ),
    "cli.clients.name": Text(
        "of the program (show: default is your own key)", "程序名称（show：默认显示您自己的密钥）"
    ),
    "cli.clients.needs_name": Text("Type the program's name after it.", "请在其后输入程序名称。"),
    "cli.serve.end": Text("Ctrl+C ends it.", "按 Ctrl+C 结束。"),
    "cli.models.columns": Text("Model|Quantization|Parts|Size|State", "模型|量化|分片|大小|状态"),
    "cli.state.ready": Text("Ready", "就绪"),
    "cli.state.touched": Text("Changed", "已变动"),
    "cli.state.altered": Text("Altered", "内容有误"),
    "cli.state.partial": Text("Partial", "不完整"),
    "cli.state.broken": Text("Broken", "已损坏"),
    "cli.state.companion": Text("Companion", "附属文件"),
    "cli.state.missing": Text("Drive missing", "磁盘未连接"),
    "cli.folder_added": Text(
        "{path} is one of the library's folders from now on.",
        "{path} 已加入模型库的文件夹。",
    ),
    "cli.loading": Text("Starting {model}", "正在启动 {model}"),
    "cli.loading.fraction": Text("Loading {model}: {percent} %", "正在加载 {model}：{percent} %"),
    "cli.ready": Text("{engine} is ready after {seconds}", "{engine} 已就绪，用时 {seconds}"),
    "cli.demo": Text(
        "This is the demo model: a small base model for trying the app, not an assistant.",
        "这是演示模型：用于试用本应用的小型基座模型，并非助手。",
    ),
    "cli.code_allowed": Text(
        "May run, as it is now: {sha256}  {file}", "允许运行（仅限当前内容）：{sha256}  {file}"
    ),
    "cli.trust_not_in_unit": Text(
        "--trust-remote-code is not written into a unit: it would allow files that change later. "
        "Start the model once with it; the consent is kept for these files.",
        "--trust-remote-code 不会写入单元文件，否则以后改动的文件也会被允许。"
        "请先用它启动一次该模型；对这些文件的许可会保留。",
    ),
    "cli.sandbox": Text(
        "shut vLLM or SGLang in: no network, files read-only (bubblewrap, Linux); kept for the"
        " model",
        "将 vLLM 或 SGLang 关进沙盒：无网络、文件只读（bubblewrap，Linux）；对该模型保留",
    ),
    "cli.trust_code": Text(
        "let the model’s own Python files run, as they are now (vLLM, SGLang); asked again when one"
        " changes",
        "允许模型自带的 Python 文件按当前内容运行（vLLM、SGLang）；许可仅对这些文件保留",
    ),
    "cli.models.unfinished": Text(
        "Not whole yet: {title}, {state}, {done} of {total} ({percent} %)",
        "尚未完整：{title}，{state}，{done} / {total}（{percent} %）",
    ),
    "cli.window_picture": Text("Picture of the window: {path}", "窗口截图：{path}"),
    "cli.no_picture": Text(
        "No picture of the window: Qt cannot load here ({detail}).",
        "无法生成窗口截图：此处无法加载 Qt（{detail}）。",
    ),
    "cli.no_display": Text(
        "There is no display here, so no window can open.",
        "此处没有显示环境，无法打开窗口。",
    ),
    "cli.no_display.next": Text(
        "“kimi-desktop chat” talks to a model in the terminal.",
        "可运行“kimi-desktop chat”在终端中对话。",
    ),
    "cli.worker": Text(
        "lend this machine’s GPUs and memory to llama.cpp on another one (RPC; trusted wire only)",
        "把本机的 GPU 与内存出借给另一台机器上的 llama.cpp（RPC，仅限可信线路）",
    ),
    "cli.worker.address": Text(
        "this machine’s address to listen at; a private one", "监听的本机地址，须为私有地址"
    ),
    "cli.worker.port": Text("its port (default: 50052)", "端口（默认：50052）"),
    "cli.worker.device": Text(
        "devices to lend, as llama.cpp names them: CUDA0,CUDA1 or CPU (default: every GPU, else "
        "the processor)",
        "出借的设备，用 llama.cpp 的名称：CUDA0,CUDA1 或 CPU（默认：所有 GPU；没有则为处理器）",
    ),
    "cli.nodes": Text(
        "one model on several machines with vLLM: the command of each, check, start, end",
        "用 vLLM 在多台机器上运行一个模型：各机命令、检查、启动、结束",
    ),
    "cli.nodes.nodes": Text(
        "address of a machine in the private network, the first one answers requests; with =NAME "
        "what ssh knows it as",
        "机器在私有网络中的地址，第一台响应请求；可加 =名称，即 ssh 所知的名称",
    ),
    "cli.nodes.check": Text(
        "ask every machine over ssh: reached, same vLLM, same GPUs, model there",
        "通过 ssh 询问每台机器：可达、vLLM 与 GPU 相同、模型存在",
    ),
    "cli.nodes.run": Text(
        "check, start on all machines over ssh, and end all with Ctrl+C",
        "检查后通过 ssh 在所有机器上启动，按 Ctrl+C 全部结束",
    ),
    "cli.nodes.ray": Text("the commands for Ray instead", "改为给出 Ray 的命令"),
    "cli.nodes.vllm": Text(
        "vLLM’s program, the same on every machine (default: vllm on PATH)",
        "vLLM 程序，每台机器相同（默认：PATH 中的 vllm）",
    ),
    "cli.nodes.port": Text(
        "the port on 127.0.0.1 (default: 8000)", "127.0.0.1 上的端口（默认：8000）"
    ),
    "cli.nodes.trust": Text(
        "let the model’s repository run its own code on every machine",
        "允许模型仓库在每台机器上运行其自带代码",
    ),
    "cli.workers": Text(
        "other machines that lend llama.cpp their devices: list, add, check, remove",
        "向 llama.cpp 出借设备的其他机器：列出、添加、检查、移除",
    ),
    "cli.workers.action": Text(
        "list, add, check or remove (default: list)", "list、add、check 或 remove（默认：list）"
    ),
    "cli.workers.address": Text(
        "the worker’s address and port, as its own output says", "工作机输出中写明的地址与端口"
    ),
    "cli.workers.device": Text(
        "what its devices are (“RTX 4090”), for the speed forecast",
        "其设备型号（如“RTX 4090”），用于预估速度",
    ),
}
