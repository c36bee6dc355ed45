"""What this computer is: the hardware check, its verdict, and the export of samples."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    # errors
    "machine.probe_failed": Text(
        "This system does not tell about its {part}.",
        "系统没有提供{part}的信息。",
    ),
    "machine.probe_failed.next": Text(
        "Check again; if it stays like this, the log has the details.",
        "请重新检测；如果仍然如此，详细信息见日志。",
    ),
    "machine.export_failed": Text(
        "The samples could not be written to {path}: {detail}.",
        "监控数据未能写入 {path}：{detail}。",
    ),
    "machine.export_failed.next": Text(
        "Choose another folder, or check this one's permissions.",
        "请另选文件夹，或检查该文件夹的权限。",
    ),
    "machine.export_disk_full": Text(
        "The samples could not be written: the disk that holds {path} is full.",
        "监控数据未能写入：{path} 所在的磁盘已满。",
    ),
    "machine.export_disk_full.next": Text(
        "Free some space or choose another disk; the samples are still here.",
        "请释放空间或另选磁盘；监控数据仍然保留。",
    ),
    "machine.program_stays": Text(
        "{name} (process {pid}) does not end.", "{name}（进程 {pid}）没有退出。"
    ),
    "machine.program_stays.next": Text(
        "It may belong to somebody else, or still be saving. End it in its own window.",
        "它可能属于其他用户，或仍在保存数据。请在其自己的窗口中退出。",
    ),
    "machine.experiment_running": Text(
        "Another experiment is being measured.", "另一项实验正在进行。"
    ),
    "machine.experiment_running.next": Text(
        "Wait for its end, or cancel it.", "请等待其结束，或将其取消。"
    ),
    "machine.no_earlier_bench": Text(
        "No users at once were measured before with {engine}.",
        "还没有用{engine}测过多用户同时使用。",
    ),
    "machine.no_earlier_bench.next": Text(
        "Measure that engine first: kimi-desktop bench MODEL, or Monitor, Experiments.",
        "请先测量该引擎：kimi-desktop bench MODEL，或“监控”中的“实验”。",
    ),
    # a saved description
    "machine.file_unreadable": Text(
        "The machine file {path} cannot be read: {detail}.",
        "无法读取机器描述文件 {path}：{detail}。",
    ),
    "machine.file_unreadable.next": Text(
        "Check its name and its permissions.",
        "请检查文件名和权限。",
    ),
    "machine.file_not_json": Text(
        "{path} is not a machine file: {detail}.",
        "{path} 不是机器描述文件：{detail}。",
    ),
    "machine.file_not_json.next": Text(
        "“kimi-desktop doctor --json > FILE” on that machine writes one.",
        "在目标机器上运行“kimi-desktop doctor --json > 文件”即可生成。",
    ),
    "machine.file_unknown_keys": Text(
        "The machine file {path} has unknown keys: {keys}.",
        "机器描述文件 {path} 含有未知的键：{keys}。",
    ),
    "machine.file_unknown_keys.next": Text(
        "Correct or remove them; “kimi-desktop doctor --json” shows the keys there are.",
        "请更正或删除；“kimi-desktop doctor --json”会列出可用的键。",
    ),
    "machine.file_bad_value": Text(
        "The machine file {path} has no usable value for {field}: {expected} is expected.",
        "机器描述文件 {path} 中 {field} 的值不可用：应为 {expected}。",
    ),
    "machine.file_bad_value.next": Text(
        "Correct it, or write the file again with “kimi-desktop doctor --json”.",
        "请更正，或用“kimi-desktop doctor --json”重新生成该文件。",
    ),
    "machine.file_too_new": Text(
        "The machine file {path} has schema {schema}; this version knows {known}.",
        "机器描述文件 {path} 的格式版本为 {schema}，当前版本只支持 {known}。",
    ),
    "machine.file_too_new.next": Text(
        "Update Kimi Desktop, or write the file with this version.",
        "请更新 Kimi Desktop，或用当前版本重新生成该文件。",
    ),
    # the table
    "machine.column.result": Text("Result", "结果"),
    "machine.column.part": Text("Part", "项目"),
    "machine.column.seen": Text("Seen", "检测到"),
    "machine.column.expected": Text("Expected", "要求"),
    "machine.expected_below": Text("Expected: {expected}", "要求：{expected}"),
    "machine.result.passed": Text("PASSED", "通过"),
    "machine.result.warn": Text("WARN", "注意"),
    "machine.result.failed": Text("FAILED", "不通过"),
    "machine.result.unknown": Text("UNKNOWN", "未知"),
    "machine.part.cpu": Text("CPU", "CPU"),
    "machine.part.memory": Text("Memory", "内存"),
    "machine.part.gpu": Text("GPU", "GPU"),
    "machine.part.gpu_link": Text("GPU link", "GPU 链路"),
    "machine.part.disk": Text("Disk space", "磁盘空间"),
    "machine.part.memory_speed": Text("Memory speed", "内存带宽"),
    "machine.part.disk_speed": Text("Disk speed", "磁盘速度"),
    "machine.not_measured": Text("Not measured yet", "尚未测量"),
    "machine.measured": Text("{rate} measured", "实测 {rate}"),
    "machine.measuring.ram": Text("Measuring memory speed", "正在测量内存带宽"),
    "machine.measuring.disk": Text("Measuring disk speed", "正在测量磁盘速度"),
    "machine.measuring.pcie": Text("Measuring GPU links", "正在测量 GPU 链路"),
    "machine.memory_speed.share": Text(
        "{rate} measured, {percent} % of {theory}", "实测 {rate}，为理论值 {theory} 的 {percent}%"
    ),
    "machine.memory_speed.detail": Text(
        "Read by all cores; sets the speed of answers from RAM",
        "所有核心同时读取；决定从内存生成的速度",
    ),
    "machine.memory_speed.expected": Text(
        "{rate}, for 4 tok/s with Kimi K2.6", "{rate}，Kimi K2.6 可达 4 词元/秒"
    ),
    "machine.disk_speed.detail": Text("Sets how long a model loads", "决定模型加载所需时间"),
    "machine.disk_speed.loads": Text("Loads {size} in about {time}", "加载 {size} 约需 {time}"),
    "machine.disk_speed.expected": Text("{rate} or more", "{rate} 或更快"),
    "machine.title": Text("This machine: {system}", "本机：{system}"),
    "machine.tier": Text("Tier {number} of {count}", "第 {number} 档，共 {count} 档"),
    "machine.comma": Text(", ", "，"),
    # counted things
    "machine.core.one": Text("{count} core", "{count} 核"),
    "machine.core.many": Text("{count} cores", "{count} 核"),
    "machine.socket.one": Text("{count} socket", "{count} 路"),
    "machine.socket.many": Text("{count} sockets", "{count} 路"),
    "machine.numa.one": Text("{count} NUMA node", "{count} 个 NUMA 节点"),
    "machine.numa.many": Text("{count} NUMA nodes", "{count} 个 NUMA 节点"),
    "machine.warning.one": Text("{count} warning", "{count} 项注意"),
    "machine.warning.many": Text("{count} warnings", "{count} 项注意"),
    # CPU
    "machine.cpu.usable": Text("{count} usable by this app", "本应用可用 {count} 核"),
    "machine.cpu.expected_x86": Text("AVX2 and 4 cores or more", "AVX2，至少 4 核"),
    "machine.cpu.expected_other": Text("4 cores or more", "至少 4 核"),
    "machine.cpu.no_avx2": Text(
        "no AVX2: the built-in engine cannot run", "不支持 AVX2：内置引擎无法运行"
    ),
    # memory
    "machine.memory.seen": Text("{total}, {free} free", "{total}，可用 {free}"),
    "machine.memory.no_limit": Text("No limit set for this process", "此进程没有内存上限"),
    "machine.memory.cgroup": Text(
        "Limited by the container or service; the machine has {total}",
        "受容器或服务限制；整机共 {total}",
    ),
    "machine.memory.wsl": Text(
        "What WSL gives to Linux; .wslconfig can raise it",
        "WSL 分配给 Linux 的内存，可在 .wslconfig 中调高",
    ),
    "machine.memory.no_swap": Text("no swap in use", "未使用交换空间"),
    "machine.memory.swap": Text("{used} of swap in use", "已用交换空间 {used}"),
    "machine.memory.expected": Text(
        "{need} for Kimi K2.6 in 4 bit", "运行 4 位量化的 Kimi K2.6 需要 {need}"
    ),
    "machine.memory.expected_both": Text(
        "{need} with VRAM, for Kimi K2.6 in 4 bit",
        "运行 4 位量化的 Kimi K2.6，内存与显存合计需要 {need}",
    ),
    # GPU
    "machine.gpu.seen_one": Text("{name}, {vram}", "{name}，{vram}"),
    "machine.gpu.seen_many": Text("{count} × {name}, {vram} in all", "{count} × {name}，共 {vram}"),
    "machine.gpu.free": Text("{free} free", "可用 {free}"),
    "machine.gpu.driver": Text("driver {driver}", "驱动 {driver}"),
    "machine.gpu.capability": Text("compute capability {capability}", "计算能力 {capability}"),
    "machine.gpu.expected": Text(
        "16 GiB, driver {driver} or newer", "16 GiB，驱动 {driver} 或更新"
    ),
    "machine.gpu.shares_memory": Text(
        "Does not report memory of its own; it may share the main memory",
        "未报告独立显存，可能与内存共用",
    ),
    "machine.gpu.none": Text("No NVIDIA GPU", "没有 NVIDIA GPU"),
    "machine.gpu.none_detail": Text(
        "Models run on the CPU; long prompts take longer to read",
        "模型在 CPU 上运行，长提示词的处理会更慢",
    ),
    "machine.gpu.hidden": Text("The GPUs are hidden", "GPU 被隐藏"),
    "machine.gpu.hidden_detail": Text(
        "CUDA_VISIBLE_DEVICES hides all of them from programs; start the app without it.",
        "CUDA_VISIBLE_DEVICES 对程序隐藏了所有 GPU；请在不设置该变量的情况下启动应用。",
    ),
    "machine.gpu.no_driver": Text("An NVIDIA GPU without a driver", "有 NVIDIA GPU，但没有驱动"),
    "machine.gpu.no_driver_detail": Text(
        "Models run on the CPU until NVIDIA's driver is installed",
        "安装 NVIDIA 驱动之前，模型在 CPU 上运行",
    ),
    "machine.gpu.apple": Text("Apple GPU", "Apple GPU"),
    "machine.gpu.apple_detail": Text("Shares the main memory", "与内存共用"),
    "machine.gpu.apple_expected": Text("An Apple GPU", "Apple GPU"),
    "machine.gpu.failed": Text("A GPU does not answer", "有 GPU 没有响应"),
    "machine.gpu.failed_detail": Text(
        "{said}. Restarting the computer usually helps", "{said}。重启电脑通常可以恢复"
    ),
    "machine.gpu.failed_expected": Text("Every GPU answers its driver", "所有 GPU 都响应驱动"),
    # GPU link
    "machine.link.seen": Text("PCIe {generation}.0 x{width}", "PCIe {generation}.0 x{width}"),
    "machine.link.seen_slowest": Text(
        "PCIe {generation}.0 x{width}, the slowest of {count}",
        "PCIe {generation}.0 x{width}，{count} 条链路中最慢",
    ),
    "machine.link.detail": Text("The most that card and slot allow", "显卡与插槽支持的最高规格"),
    "machine.link.unknown": Text("The driver does not say", "驱动没有提供"),
    "machine.link.unknown_detail": Text("Virtual machines often hide it", "虚拟机中通常无法得知"),
    "machine.link.expected": Text("PCIe 4.0 x16 or faster", "PCIe 4.0 x16 或更快"),
    # disk
    "machine.disk.seen": Text("{free} free of {total}", "可用 {free}，共 {total}"),
    "machine.disk.nvme": Text("NVMe", "NVMe"),
    "machine.disk.ssd": Text("SSD", "SSD"),
    "machine.disk.rotational": Text("Hard disk, slow to load from", "机械硬盘，加载较慢"),
    "machine.disk.network": Text("Network drive", "网络磁盘"),
    "machine.disk.unknown": Text("Virtual disk or unknown kind", "虚拟磁盘或类型未知"),
    "machine.disk.in_ram": Text("In RAM, lost at a restart", "位于内存中，重启后丢失"),
    "machine.disk.not_writable": Text("cannot be written by this user", "当前用户无法写入"),
    "machine.disk.expected": Text(
        "{need} for Kimi K2.6 in 4 bit", "存放 4 位量化的 Kimi K2.6 需要 {need}"
    ),
    # how the rows came out
    "machine.verdict.detail": Text(
        "{passed} passed, {warnings}, {unknown} unknown, {failed} failed.",
        "{passed} 项通过，{warnings}，{unknown} 项未知，{failed} 项不通过。",
    ),
}
