"""Other machines that lend llama.cpp their devices, and lending them."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "workers.bad_address": Text(
        "“{address}” is not the address of a worker.",
        "“{address}”不是有效的工作机地址。",
    ),
    "workers.bad_address.next": Text(
        "Write an IPv4 address and a port, for example 192.168.1.20:50052.",
        "请填写 IPv4 地址和端口，例如 192.168.1.20:50052。",
    ),
    "workers.public_address": Text(
        "{address} is not an address of a private network.",
        "{address} 不是私有网络的地址。",
    ),
    "workers.public_address.next": Text(
        "llama.cpp’s RPC has no authentication and no encryption: use an address of a network or "
        "VPN that you trust (10.x, 172.16–31.x, 192.168.x, 100.64–127.x, 169.254.x).",
        "llama.cpp 的 RPC 没有身份验证，也没有加密：只能使用可信网络或 VPN 中的地址"
        "（10.x、172.16–31.x、192.168.x、100.64–127.x、169.254.x）。",
    ),
    "workers.choose_address": Text(
        "Name the address to lend this machine’s devices at. This machine has: {addresses}.",
        "请指定在哪个地址出借本机设备。本机的地址：{addresses}。",
    ),
    "workers.choose_address.next": Text(
        "Choose one of a wire or VPN that you trust, with --address.",
        "请用 --address 选择可信线路或 VPN 上的一个地址。",
    ),
    "workers.not_here": Text(
        "This machine does not have the address {address}.",
        "本机没有地址 {address}。",
    ),
    "workers.not_here.next": Text("Choose one of: {addresses}.", "请从中选择：{addresses}。"),
    "workers.no_program": Text(
        "No ggml-rpc-server was found (looked in: {places}).",
        "未找到 ggml-rpc-server（已查找：{places}）。",
    ),
    "workers.no_program.next": Text(
        "It comes with llama.cpp’s releases and with builds made with -DGGML_RPC=ON: put it beside "
        "llama-server or on PATH. The built-in engine has none.",
        "llama.cpp 的官方发行包以及用 -DGGML_RPC=ON 编译的版本都带有它：请放在 llama-server 旁边"
        "或 PATH 中。内置引擎不含此程序。",
    ),
    "workers.port_taken": Text(
        "{address} is used by another program.", "{address} 已被其他程序占用。"
    ),
    "workers.port_taken.next": Text(
        "Choose another port with --port.", "请用 --port 指定其他端口。"
    ),
    "workers.ended": Text("The worker ended: {detail}", "工作机程序已退出：{detail}"),
    "workers.ended.next": Text(
        "Its log (worker.log) has its last words.", "日志（worker.log）中有它最后的输出。"
    ),
    "workers.unreachable": Text(
        "Nothing answers at {address}: {detail}.", "{address} 没有响应：{detail}。"
    ),
    "workers.unreachable.next": Text(
        "Start “kimi-desktop worker --address …” on that machine, and let its firewall pass the "
        "port.",
        "请在那台机器上运行“kimi-desktop worker --address …”，并在防火墙中放行该端口。",
    ),
    "workers.busy": Text(
        "{address} accepts connections and says nothing: an engine is using the worker.",
        "{address} 接受连接但不回应：已有引擎正在使用这台工作机。",
    ),
    "workers.busy.next": Text(
        "A worker serves one engine at a time. End the other one, or check again later.",
        "一台工作机一次只服务一个引擎。请结束另一个引擎，或稍后再检查。",
    ),
    "workers.not_one": Text(
        "What listens at {address} is not a worker of llama.cpp.",
        "{address} 上的程序不是 llama.cpp 的工作机。",
    ),
    "workers.not_one.next": Text(
        "Look at the port: a worker’s own output says where it listens.",
        "请核对端口：工作机的输出会写明它监听的地址。",
    ),
    "workers.too_old": Text(
        "The worker at {address} speaks version {version} of the RPC protocol, which is too old.",
        "{address} 的工作机使用 RPC 协议 {version} 版，版本过旧。",
    ),
    "workers.too_old.next": Text(
        "Install the same build of llama.cpp on both machines.",
        "请在两台机器上安装相同版本的 llama.cpp。",
    ),
    "workers.other_version": Text(
        "The engine here and the worker at {address} (protocol {version}) are of different "
        "versions.",
        "本机的引擎与 {address} 的工作机（协议 {version}）版本不同。",
    ),
    "workers.other_version.next": Text(
        "Install the same build of llama.cpp on both machines.",
        "请在两台机器上安装相同版本的 llama.cpp。",
    ),
    "workers.no_engine": Text(
        "{engine} cannot use workers: it was built without RPC.",
        "{engine} 无法使用工作机：其编译时未启用 RPC。",
    ),
    "workers.no_engine.next": Text(
        "Choose a llama-server built with -DGGML_RPC=ON (the official releases are) in Settings.",
        "请在“设置”中选择启用了 -DGGML_RPC=ON 的 llama-server（官方发行版均已启用）。",
    ),
    "workers.unknown": Text("There is no worker {address}.", "没有工作机 {address}。"),
    "workers.unknown.next": Text(
        "“kimi-desktop workers” lists those that there are.",
        "“kimi-desktop workers”会列出已有的工作机。",
    ),
    "workers.lost": Text(
        "A worker on another machine was lost: {detail}", "与其他机器上的工作机失去连接：{detail}"
    ),
    "workers.lost.next": Text(
        "See on that machine whether “kimi-desktop worker” still runs there and what it says; "
        "check it in Settings, then start the engine again. The engine cannot go on without it.",
        "请在那台机器上查看“kimi-desktop worker”是否仍在运行及其输出；在“设置”中检查它，"
        "然后重新启动引擎。没有它，引擎无法继续。",
    ),
    "workers.warning": Text(
        "llama.cpp’s RPC has no authentication and no encryption. Whoever reaches {address} can "
        "use this machine’s memory, read what passes, and attack the program. Only use a wire or "
        "VPN that you trust.",
        "llama.cpp 的 RPC 没有身份验证，也没有加密。任何能访问 {address} 的人都可以占用本机内存、"
        "读取传输内容，甚至攻击该程序。请只在可信的线路或 VPN 上使用。",
    ),
    "workers.ready": Text(
        "Lending this machine’s devices at {address} (RPC protocol {version}):",
        "正在 {address} 出借本机设备（RPC 协议 {version}）：",
    ),
    "workers.device": Text(
        "{name}: {total} GiB, {free} GiB free", "{name}：{total} GiB，空闲 {free} GiB"
    ),
    "workers.type_there": Text(
        "Type on the first machine:\n  {command}", "请在主机上输入：\n  {command}"
    ),
    "workers.end": Text("Ctrl+C ends it.", "按 Ctrl+C 结束。"),
    "workers.connected": Text("An engine has connected.", "有引擎连接。"),
    "workers.left": Text("The engine has left.", "引擎已断开。"),
    "workers.none": Text(
        "No workers. Run “kimi-desktop worker” on another machine, then “kimi-desktop workers "
        "add”.",
        "没有工作机。请在另一台机器上运行“kimi-desktop worker”，"
        "然后运行“kimi-desktop workers add”。",
    ),
    "workers.row.ready": Text(
        "{address} {name}: {memory}, RPC protocol {version}, {latency} ms, {rate}",
        "{address} {name}：{memory}，RPC 协议 {version}，{latency} 毫秒，{rate}",
    ),
    "workers.row.failed": Text("{address} {name}: {problem}", "{address} {name}：{problem}"),
    "workers.row.free": Text("{free} of {total} GiB free", "空闲 {free} / {total} GiB"),
    "workers.row.unmeasured": Text("link not measured", "链路未测速"),
    "workers.no_answer": Text(
        "Warning: {address} is kept, but it cannot be used now. Ask it again: "
        "kimi-desktop workers check {address}",
        "警告：已保存 {address}，但目前无法使用。稍后可再次检查："
        "kimi-desktop workers check {address}",
    ),
    "workers.replaced": Text(
        "{address} was there already; its name is the new one.",
        "{address} 已存在，名称已更新。",
    ),
    "workers.added": Text("Added:", "已添加："),
    "workers.removed": Text("Removed {address}.", "已移除 {address}。"),
}
