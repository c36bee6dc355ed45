"""One model over several machines with vLLM."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "nodes.count": Text(
        "{count} machines were named.",
        "指定了 {count} 台机器。",
    ),
    "nodes.count.next": Text(
        "Name 2 to {most}, each by its address in the private network.",
        "请指定 2 至 {most} 台机器，各填其在私有网络中的地址。",
    ),
    "nodes.bad_name": Text("“{name}” is no name for ssh.", "“{name}”不是 ssh 可用的名称。"),
    "nodes.bad_name.next": Text(
        "Write 10.0.0.2=gpu2 or 10.0.0.2=ada@gpu2; ports and keys belong into ~/.ssh/config.",
        "请写成 10.0.0.2=gpu2 或 10.0.0.2=ada@gpu2；端口和密钥请写入 ~/.ssh/config。",
    ),
    "nodes.twice": Text("{address} was named twice.", "{address} 被指定了两次。"),
    "nodes.twice.next": Text(
        "Every machine has an address of its own.", "每台机器应有各自的地址。"
    ),
    "nodes.by_hand": Text(
        "{address} is not an address of this machine, and no name for ssh was given.",
        "{address} 不是本机的地址，也没有给出 ssh 名称。",
    ),
    "nodes.by_hand.next": Text(
        "Write {address}=NAME with what ssh knows that machine as, or run its command there by "
        "hand.",
        "请写成 {address}=名称（ssh 所知的名称），或在那台机器上手动运行其命令。",
    ),
    "nodes.no_ssh": Text(
        "{program} cannot be started: {detail}.", "无法启动 {program}：{detail}。"
    ),
    "nodes.no_ssh.next": Text(
        "Install the system’s OpenSSH client.", "请安装系统的 OpenSSH 客户端。"
    ),
    "nodes.unreachable": Text(
        "ssh does not reach {node}: {detail}", "ssh 无法连接 {node}：{detail}"
    ),
    "nodes.unreachable.next": Text(
        "“ssh -o BatchMode=yes NAME true” must work without a question: set up a key, and connect "
        "once by hand so that the machine is known.",
        "“ssh -o BatchMode=yes 名称 true”必须无需任何输入即可成功：请设置密钥，"
        "并先手动连接一次以确认主机。",
    ),
    "nodes.no_engine": Text(
        "“{program} --version” says nothing on {node}: {detail}",
        "“{program} --version”在 {node} 上没有给出版本：{detail}",
    ),
    "nodes.no_engine.next": Text(
        "Install vLLM there at the same place as on the others, and name its program with --vllm.",
        "请在那里将 vLLM 安装到与其他机器相同的位置，并用 --vllm 指定其程序。",
    ),
    "nodes.other_address": Text(
        "{address} is not an address of {node}.", "{address} 不是 {node} 的地址。"
    ),
    "nodes.other_address.next": Text(
        "“ip -4 addr” on that machine lists those it has.",
        "在那台机器上运行“ip -4 addr”可列出其地址。",
    ),
    "nodes.no_model": Text("{node} does not have {path}.", "{node} 上没有 {path}。"),
    "nodes.no_model.next": Text(
        "Copy the model to the same path on every machine, or share the folder.",
        "请将模型复制到每台机器的相同路径，或共享该文件夹。",
    ),
    "nodes.other_version": Text(
        "{first} has vLLM {here}, {second} has {there}.",
        "{first} 上是 vLLM {here}，{second} 上是 {there}。",
    ),
    "nodes.other_version.next": Text(
        "Install the same version on all machines.", "请在所有机器上安装相同版本。"
    ),
    "nodes.other_gpus": Text(
        "{first} has {here}, {second} has {there}.",
        "{first} 有 {here}，{second} 有 {there}。",
    ),
    "nodes.other_gpus.next": Text(
        "vLLM deals the model out in equal parts: use machines that are alike.",
        "vLLM 会将模型等分：请使用相同的机器。",
    ),
    "nodes.ended": Text("vLLM ended on {node}: {detail}", "{node} 上的 vLLM 已退出：{detail}"),
    "nodes.ended.next": Text(
        "All others were ended, too. The logs (vllm-node-*.log) have every word; often the "
        "machines do not reach each other: firewall, or another network interface.",
        "其他机器上的也已结束。日志（vllm-node-*.log）中有全部输出；常见原因是机器之间无法互通："
        "防火墙，或使用了其他网络接口。",
    ),
    "nodes.warning": Text(
        "What vLLM’s processes say to each other is not encrypted, and whoever reaches their ports "
        "can run code there. Only use a network that you trust.",
        "vLLM 各进程之间的通信没有加密，任何能访问其端口的人都可以在那里执行代码。"
        "请只在可信的网络中使用。",
    ),
    "nodes.same_everywhere": Text(
        "The same vLLM, at the same place, and the model at the same path on every machine. Start "
        "them within a few minutes of each other; end all of them.",
        "每台机器上须有相同的 vLLM、相同的安装位置，模型也在相同路径。请在几分钟内先后启动，"
        "结束时需全部结束。",
    ),
    "nodes.key": Text(
        "What answers requests reads its key from {path}, and makes one there if there is none. "
        "Programs need that key.",
        "提供接口的程序从 {path} 读取密钥，没有时会自动生成。其他程序连接时需要该密钥。",
    ),
    "nodes.on": Text("On {node}:", "在 {node} 上："),
    "nodes.code": Text(
        "This model asks for its repository’s own code. It runs it only with --trust-remote-code, "
        "on every machine.",
        "该模型要求运行其仓库自带的代码。只有加上 --trust-remote-code 才会在每台机器上运行。",
    ),
    "nodes.no_plan": Text(
        "No GPU is known here, so nothing is planned: --machine FILE names one of the machines, as "
        "its own “doctor --json” wrote it.",
        "本机没有已知的 GPU，因此未做规划：可用 --machine FILE 指定其中一台机器的文件"
        "（由其“doctor --json”写出）。",
    ),
    "nodes.alike": Text("{node}: vLLM {version}, {gpus}", "{node}：vLLM {version}，{gpus}"),
    "nodes.checked": Text("The machines can serve together.", "这些机器可以共同提供服务。"),
    "nodes.asking": Text("Asking {count} machines …", "正在询问 {count} 台机器…"),
    "nodes.starting": Text("Starting on {count} machines …", "正在 {count} 台机器上启动…"),
    "nodes.ready": Text(
        "Ready at {url} with the key {secret} (this machine only; the first one is reached through "
        "ssh).",
        "已就绪：{url}，密钥 {secret}（仅限本机；通过 ssh 访问第一台机器）。",
    ),
    "nodes.end": Text("Ctrl+C ends it on all of them.", "按 Ctrl+C 在所有机器上结束。"),
}
