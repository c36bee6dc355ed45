"""Forecasts: what a speed waits for, how a load fits, what a machine is good for."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    # what the time goes to
    "forecast.bottleneck.ram": Text("RAM bandwidth", "内存带宽"),
    "forecast.bottleneck.gpu_memory": Text("GPU memory bandwidth", "显存带宽"),
    "forecast.bottleneck.pcie": Text("PCIe", "PCIe"),
    "forecast.bottleneck.disk": Text("disk", "磁盘"),
    "forecast.bottleneck.network": Text("network", "网络"),
    "forecast.bottleneck.compute": Text("compute", "计算"),
    # why a speed is what it is
    "forecast.known.measured": Text("measured", "实测"),
    "forecast.known.specified": Text("by its data sheet", "按规格"),
    "forecast.known.assumed": Text("assumed", "按常见值估计"),
    "forecast.limit.decode.ram": Text(
        "Limited by RAM bandwidth: {size} are read per token; {rate} {known}.",
        "受限于内存带宽：每个词元读取 {size}；{rate}（{known}）。",
    ),
    "forecast.limit.decode.gpu_memory": Text(
        "Limited by GPU memory bandwidth: {size} are read per token; {rate} {known}.",
        "受限于显存带宽：每个词元读取 {size}；{rate}（{known}）。",
    ),
    "forecast.limit.decode.disk": Text(
        "Limited by the disk: {size} have no room in memory and are read again and again; "
        "{rate} {known}.",
        "受限于磁盘：{size} 放不进内存，会反复读取；{rate}（{known}）。",
    ),
    "forecast.limit.decode.compute": Text(
        "Limited by the fixed work of {layers} layers, not by memory.",
        "受限于 {layers} 层的固定开销，而不是内存。",
    ),
    "forecast.limit.decode.cores": Text(
        "Limited by {cores} processor cores: they cannot read memory any faster.",
        "受限于 {cores} 个 CPU 核心：无法更快地读取内存。",
    ),
    "forecast.limit.decode.network": Text(
        "Limited by the network: every token goes to the workers and back.",
        "受限于网络：每个词元都要往返于工作机。",
    ),
    "forecast.limit.prefill.network": Text(
        "Limited by the network: what is computed of every token goes to the workers and back.",
        "受限于网络：每个词元的中间结果都要往返于工作机。",
    ),
    "forecast.limit.load.network": Text(
        "{size} go to the workers over the network", "{size} 经网络发送到工作机"
    ),
    "forecast.limit.prefill.pcie": Text(
        "Limited by PCIe: {size} of weights cross it once per {tokens} tokens, at {rate}.",
        "受限于 PCIe：每 {tokens} 个词元要传输一遍 {size} 权重，速率 {rate}。",
    ),
    "forecast.limit.prefill.disk": Text(
        "Limited by the disk: {size} have no room in memory; {rate} {known}.",
        "受限于磁盘：{size} 放不进内存；{rate}（{known}）。",
    ),
    "forecast.limit.prefill.ram": Text(
        "Limited by RAM bandwidth: {rate} {known}.",
        "受限于内存带宽：{rate}（{known}）。",
    ),
    "forecast.limit.prefill.gpu_memory": Text(
        "Limited by GPU memory bandwidth: {rate} {known}.",
        "受限于显存带宽：{rate}（{known}）。",
    ),
    "forecast.limit.prefill.gpu": Text(
        "Limited by the arithmetic of the GPU.", "受限于 GPU 的算力。"
    ),
    "forecast.limit.prefill.cores": Text(
        "Limited by the arithmetic of {cores} processor cores.",
        "受限于 {cores} 个 CPU 核心的算力。",
    ),
    "forecast.limit.load": Text(
        "{size} from disk; {rate} {known}", "从磁盘读取 {size}；{rate}（{known}）"
    ),
    # quality of a quantization
    "forecast.quality.lossless": Text("Lossless", "无损"),
    "forecast.quality.near_lossless": Text("Near-lossless", "近乎无损"),
    "forecast.quality.good": Text("Good", "良好"),
    "forecast.quality.reduced": Text("Reduced quality", "质量有所下降"),
    "forecast.quality.worse_than_native": Text(
        "Larger and worse than the native 4 bit", "比原生 4 位更大，质量更差"
    ),
    # verdicts
    "forecast.verdict.in_vram": Text(
        "Fits in VRAM, {vram} to spare", "可全部放入显存，剩余 {vram}"
    ),
    "forecast.verdict.in_vram_and_ram": Text(
        "Fits in VRAM + RAM, {vram} of VRAM and {ram} of RAM to spare",
        "可放入显存 + 内存，显存剩余 {vram}，内存剩余 {ram}",
    ),
    "forecast.verdict.in_ram": Text("Fits in RAM, {ram} to spare", "可放入内存，剩余 {ram}"),
    "forecast.verdict.disk_bound": Text(
        "Disk-bound: {ram} more than RAM holds is read from disk again and again",
        "受限于磁盘：超出内存的 {ram} 会反复从磁盘读取",
    ),
    "forecast.verdict.does_not_fit_vram": Text(
        "Does not fit: {short} of VRAM is missing", "放不下：显存缺少 {short}"
    ),
    "forecast.verdict.does_not_fit_ram": Text(
        "Does not fit: {ram} of RAM is missing", "放不下：内存缺少 {ram}"
    ),
    "forecast.verdict.does_not_fit_both": Text(
        "Does not fit: {short} of VRAM and {ram} of RAM are missing",
        "放不下：显存缺少 {short}，内存缺少 {ram}",
    ),
    "forecast.verdict.does_not_fit_reserve": Text(
        "Does not fit with the reserve kept free: {ram} of RAM would be left",
        "留出余量后放不下：内存只会剩余 {ram}",
    ),
    # the same in a few words, for lists
    "forecast.fit.in_vram": Text("Fits in VRAM", "可放入显存"),
    "forecast.fit.in_vram_and_ram": Text("Fits in VRAM + RAM", "可放入显存 + 内存"),
    "forecast.fit.in_ram": Text("Fits in RAM", "可放入内存"),
    "forecast.fit.disk_bound": Text("Disk-bound", "受限于磁盘"),
    "forecast.fit.does_not_fit": Text("Does not fit", "放不下"),
    "forecast.fit.unsized": Text("Size not known", "大小未知"),
    "forecast.fit.unread": Text("Known by its header alone", "需读取文件头"),
    "forecast.fit.other": Text("Not forecast", "暂无预测"),
    "forecast.spare.in_vram": Text("{vram} to spare", "剩余 {vram}"),
    "forecast.spare.in_vram_and_ram": Text(
        "VRAM {vram}, RAM {ram} GiB to spare", "剩余显存 {vram}、内存 {ram} GiB"
    ),
    "forecast.spare.in_ram": Text("{ram} to spare", "剩余 {ram}"),
    "forecast.spare.lacks_vram": Text("{vram} of VRAM missing", "显存缺少 {vram}"),
    "forecast.spare.lacks_ram": Text("{ram} of RAM missing", "内存缺少 {ram}"),
    "forecast.spare.only_ram": Text("only {ram} of RAM would be left", "内存只会剩余 {ram}"),
    "forecast.band": Text("{low} – {high}", "{low} – {high}"),
    "forecast.limit": Text("limit: {waits}", "瓶颈：{waits}"),
    "forecast.bits": Text("{bits} bits per weight", "每个权重 {bits} 位"),
    "forecast.size.unknown": Text("size not known", "大小未知"),
    "forecast.size.rounded": Text("about {size}", "约 {size}"),
    "forecast.details": Text(
        "Prompts {prefill} · first token {first} after {prompt} tokens · loads in {load}",
        "提示词 {prefill} · {prompt} 词元后首字延迟 {first} · 加载 {load}",
    ),
    "forecast.download.time": Text("{time} at {rate} Mbit/s", "{rate} Mbit/s 下载 {time}"),
    "forecast.download.no_room": Text("No disk has room", "磁盘空间不足"),
    "forecast.engines": Text("For {engines}.", "适用于 {engines}。"),
    "forecast.slow": Text("Slow here.", "在本机较慢。"),
    # what a machine is
    "forecast.tier": Text("{head}: {reach}.", "{head}：{reach}。"),
    "forecast.tier.speed": Text(
        "{model}: {low} to {high}, waiting for {waits}.",
        "{model}：{low} 到 {high}，瓶颈：{waits}。",
    ),
    "forecast.tier.detail": Text("{speed} {rows}", "{speed}{rows}"),
    "forecast.vram.one": Text("{vram} of VRAM", "{vram} 显存"),
    "forecast.vram.many": Text("{vram} of VRAM in {count} cards", "{count} 张显卡共 {vram} 显存"),
    "forecast.build.server": Text("GPU server with {vram}", "GPU 服务器，{vram}"),
    "forecast.build.tight_server": Text(
        "GPU server with {vram}, which holds the weights of Kimi K2.6 and hardly its cache",
        "GPU 服务器，{vram}，放得下 Kimi K2.6 的权重，但几乎没有 KV 缓存的空间",
    ),
    "forecast.build.unified": Text(
        "{ram} of memory shared by processors and graphics", "CPU 与 GPU 共用 {ram} 内存"
    ),
    "forecast.build.big_card": Text("{vram} and {ram} of RAM", "{vram}加 {ram} 内存"),
    "forecast.build.card": Text("{vram} and {ram} of RAM", "{vram}加 {ram} 内存"),
    "forecast.build.small_card": Text(
        "A small GPU ({vram}) and {ram} of RAM", "小型 GPU（{vram}）加 {ram} 内存"
    ),
    "forecast.build.cpu": Text(
        "Processors alone with {ram} of RAM, where long prompts take a while",
        "仅 CPU，{ram} 内存，长提示词处理较慢",
    ),
    "forecast.build.plain": Text("{ram} of RAM and no GPU", "{ram} 内存，没有 GPU"),
    "forecast.reach.k3_lossless": Text(
        "Kimi K3 fits without loss, and all smaller Kimi models",
        "可无损容纳 Kimi K3，以及所有更小的 Kimi 模型",
    ),
    "forecast.reach.k3_2bit": Text(
        "Kimi K2.6 fits without loss, Kimi K3 in 2 bits",
        "可无损容纳 Kimi K2.6，Kimi K3 可用 2 位量化",
    ),
    "forecast.reach.k3_2bit_slow": Text(
        "Kimi K2.6 fits without loss; Kimi K3 in 2 bits fits too, but wants a GPU of 64 GiB for "
        "its always-on part",
        "可无损容纳 Kimi K2.6；2 位量化的 Kimi K3 也放得下，但其常驻部分需要 64 GiB 显存的 GPU",
    ),
    "forecast.reach.k3_1bit": Text(
        "Kimi K2.6 fits without loss, Kimi K3 in 1 bit",
        "可无损容纳 Kimi K2.6，Kimi K3 可用 1 位量化",
    ),
    "forecast.reach.k3_1bit_slow": Text(
        "Kimi K2.6 fits without loss; Kimi K3 in 1 bit fits too, but wants a GPU of 64 GiB for its "
        "always-on part",
        "可无损容纳 Kimi K2.6；1 位量化的 Kimi K3 也放得下，但其常驻部分需要 64 GiB 显存的 GPU",
    ),
    "forecast.reach.k26_in_vram": Text(
        "Kimi K2.6 fits into VRAM as a whole, for several users at once",
        "Kimi K2.6 可全部放入显存，并可多人同时使用",
    ),
    "forecast.reach.k26_4bit": Text(
        "Kimi K2.6 fits in its native 4 bit", "可容纳原生 4 位的 Kimi K2.6"
    ),
    "forecast.reach.k26_4bit_tight": Text(
        "Kimi K2.6 fits in its native 4 bit, tightly; in 2 bit with room to spare",
        "可容纳原生 4 位的 Kimi K2.6，但余量很小；2 位量化则较宽裕",
    ),
    "forecast.reach.k26_2bit": Text(
        "Kimi K2.6 fits in 2 bit, not in its native 4 bit",
        "可容纳 2 位量化的 Kimi K2.6，放不下原生 4 位",
    ),
    "forecast.reach.linear": Text(
        "Kimi-Linear 48B fits in 4 bit, Kimi K2.6 does not fit",
        "可容纳 4 位量化的 Kimi-Linear 48B，放不下 Kimi K2.6",
    ),
    "forecast.reach.kimi_16b": Text(
        "the small Kimi models fit in 4 bit (Kimi-VL, Moonlight 16B)",
        "可容纳 4 位量化的小型 Kimi 模型（Kimi-VL、Moonlight 16B）",
    ),
    "forecast.reach.small": Text(
        "models of a few billion parameters fit", "可容纳数十亿参数的小模型"
    ),
}
