"""Plans: what is missing, what helps instead, what differs from another plan."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    # what is missing, what helps
    "plan.missing.ram": Text(
        "{size} of RAM is missing, with {percent} % of it kept free.",
        "内存还差 {size}（已计入 {percent}% 的预留）。",
    ),
    "plan.missing.vram": Text(
        "{size} of memory is missing on {device}, with {percent} % of it kept free.",
        "{device} 的显存还差 {size}（已计入 {percent}% 的预留）。",
    ),
    "plan.missing.helps": Text("What helps: {remedies}.", "可行的办法：{remedies}。"),
    "plan.missing.nothing": Text(
        "Nothing that is known here helps.",
        "目前没有已知的解决办法。",
    ),
    "plan.remedies": Text("{first}, or {second}", "{first}，或{second}"),
    "plan.remedy.quantization": Text(
        "{name} ({size}, {size_gib})", "改用 {name}（{size}，{size_gib}）"
    ),
    "plan.remedy.quantization_auto": Text(
        "{name} ({size}, {size_gib}) with the layers left to the planner",
        "改用 {name}（{size}，{size_gib}），并由规划器分配各层",
    ),
    "plan.remedy.context": Text("a context of {context}", "把上下文缩短到 {context}"),
    "plan.remedy.cache_type": Text("a KV cache of {type}", "KV 缓存使用 {type}"),
    "plan.remedy.profile": Text(
        "the profile “{profile_name}”, which keeps {percent} % free",
        "使用“{profile_name}”方案，仅预留 {percent}%",
    ),
    "plan.remedy.free_vram": Text(
        "closing what holds {others} of {device}", "关闭占用 {device} {others} 显存的程序"
    ),
    "plan.remedy.free_ram": Text(
        "closing programs: they hold {others} of RAM", "关闭占用 {others} 内存的其他程序"
    ),
    "plan.remedy.more_ram": Text("{size} more RAM", "增加 {size} 内存"),
    "plan.remedy.spread": Text("spreading the layers anew", "重新分配各层"),
    "plan.remedy.auto": Text("leaving the layers to the planner", "让规划器分配各层"),
    # the same for a list of changes: a title, and what it means
    "plan.tight": Text("Fits, tight", "放得下，余量小"),
    "plan.change.quantization": Text("{name}", "{name}"),
    "plan.change.quantization.detail": Text(
        "{size} to read and store ({size_gib} in memory)", "文件 {size}（占内存 {size_gib}）"
    ),
    "plan.change.quantization.offer": Text(
        "not downloaded yet: {size} ({size_gib} in memory)", "尚未下载：{size}（占内存 {size_gib}）"
    ),
    "plan.change.quantization_auto": Text("{name}, placed by the planner", "{name}，由规划器分配"),
    "plan.change.quantization_auto.detail": Text(
        "{size} to read and store ({size_gib} in memory)", "文件 {size}（占内存 {size_gib}）"
    ),
    "plan.change.quantization_auto.offer": Text(
        "not downloaded yet: {size} ({size_gib} in memory)", "尚未下载：{size}（占内存 {size_gib}）"
    ),
    "plan.change.context": Text("Context {context}", "上下文 {context}"),
    "plan.change.context.detail": Text("a smaller cache", "缓存更小"),
    "plan.change.cache_type": Text("KV {type}", "KV {type}"),
    "plan.change.cache_type.detail": Text("half the cache, hardly any loss", "缓存减半，几乎无损"),
    "plan.change.profile": Text("Profile {profile_name}", "“{profile_name}”方案"),
    "plan.change.profile.detail": Text(
        "keeps {percent} % of every device free", "每个设备保留 {percent}% 空闲"
    ),
    "plan.change.free_vram": Text("Free VRAM", "释放显存"),
    "plan.change.free_vram.detail": Text(
        "close what holds {others} of {device}: {size} are missing",
        "关闭占用 {device} {others} 的程序：还差 {size}",
    ),
    "plan.change.free_ram": Text("Free RAM", "释放内存"),
    "plan.change.free_ram.detail": Text(
        "close programs: they hold {others}, and {size} are missing",
        "关闭其他程序：它们占用 {others}，还差 {size}",
    ),
    "plan.change.more_ram": Text("{size} more RAM", "增加 {size} 内存"),
    "plan.change.more_ram.detail": Text("then it fits as it is", "之后无需改动即可放下"),
    "plan.change.auto": Text("Auto", "自动"),
    "plan.change.auto.detail": Text("the planner places the layers", "由规划器分配各层"),
    "plan.change.spread": Text("Spread anew", "重新分配"),
    "plan.change.spread.detail": Text(
        "the same layers, split otherwise over the GPUs", "层数不变，在各 GPU 间重新分配"
    ),
    # what a change of one thing would bring
    "plan.change.same_speed": Text("same speed", "速度不变"),
    "plan.change.file.smaller": Text("{size} less to read and store", "读取和存储减少 {size}"),
    "plan.change.file.larger": Text("{size} more to read and store", "读取和存储增加 {size}"),
    "plan.change.file.quality": Text("{file} · {quality}", "{file} · {quality}"),
    "plan.change.experts.in.one": Text("one more expert layer on the GPU", "显存中多 1 个专家层"),
    "plan.change.experts.in.many": Text(
        "{count} more expert layers on the GPU", "显存中多 {count} 个专家层"
    ),
    "plan.change.experts.out.one": Text("one more expert layer in RAM", "内存中多 1 个专家层"),
    "plan.change.experts.out.many": Text(
        "{count} more expert layers in RAM", "内存中多 {count} 个专家层"
    ),
    "plan.change.spare.same": Text("the same memory", "内存用量不变"),
    "plan.change.spare.more": Text("{size} more stays free", "多剩余 {size}"),
    "plan.change.spare.less": Text("{size} less stays free", "少剩余 {size}"),
}
