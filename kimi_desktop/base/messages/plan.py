"""Plans: what cannot be planned, the words of tables and of checks."""

from __future__ import annotations

from kimi_desktop.base.messages import plan_changes, plan_reasons
from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    # errors
    "plan.bad_wish": Text(
        "{name} {value} is not possible: it must be {least} to {most}.",
        "{name} 不能为 {value}：取值范围是 {least} 到 {most}。",
    ),
    "plan.bad_wish.next": Text(
        "Choose a number in this range, or leave it to the planner.",
        "请选择该范围内的数值，或交给规划器决定。",
    ),
    "plan.other_engine": Text(
        "{flag} means nothing to {engine}, for which this would be planned.",
        "{flag} 不适用于本次规划的引擎 {engine}。",
    ),
    "plan.other_engine.next": Text(
        "Leave it out, or choose the other engine with --engine.",
        "请去掉该选项，或用 --engine 选择另一种引擎。",
    ),
    "plan.nodes": Text(
        "{gpus} GPUs cannot be dealt out to {nodes} machines in equal parts.",
        "{gpus} 个 GPU 无法平均分配到 {nodes} 台机器。",
    ),
    "plan.nodes.next": Text(
        "Choose tensor and pipeline sizes whose product is a multiple of the number of machines.",
        "请选择张量并行与流水线并行的大小，使其乘积为机器数量的整数倍。",
    ),
    "plan.too_many_layers": Text(
        "{name} {value} is more than there is: this model has {most}.",
        "{name} 为 {value}，超出了实际数量：该模型只有 {most} 层。",
    ),
    "plan.too_many_layers.next": Text(
        "Choose {most} or fewer, or leave it to the planner.",
        "请选择不超过 {most} 的数值，或交给规划器决定。",
    ),
    "plan.bad_cache_type": Text(
        "The KV cache of this model cannot be {type}.",
        "该模型的 KV 缓存不能使用 {type} 类型。",
    ),
    "plan.bad_cache_type.next": Text("It can be: {types}.", "可用的类型：{types}。"),
    "plan.no_header": Text(
        "The header of {name} does not say enough to plan with.",
        "{name} 的文件头信息不足，无法规划。",
    ),
    "plan.no_header.next": Text(
        "Choose a complete GGUF file, or plan with its size alone on the Models page.",
        "请选择完整的 GGUF 文件，或在“模型”页仅按文件大小估算。",
    ),
    "plan.no_profile": Text(
        "{name} is served by vLLM or SGLang, which have no profiles.",
        "{name} 由 vLLM 或 SGLang 运行，没有配置档可选。",
    ),
    "plan.no_profile.next": Text(
        "Leave --profile out; --ctx sets the longest context.",
        "请去掉 --profile；--ctx 可设置最大上下文。",
    ),
    "plan.learned": Text(
        "Speeds are corrected by answers measured on this machine: {runs}.",
        "速度已按本机的实测回答校正：{runs} 次。",
    ),
    "plan.cannot_start": Text(
        "{name} does not fit as planned: no engine would start it here.",
        "按此规划，{name} 放不下：引擎无法在此启动。",
    ),
    "plan.cannot_divide": Text(
        "{name} cannot be divided over GPUs in the way that was asked for.",
        "{name} 无法按所要求的方式切分到多张 GPU。",
    ),
    "plan.users_short": Text(
        "{name} does not fit for {users} users at once: {at_once} do.",
        "{name} 无法同时容纳 {users} 位用户：只能容纳 {at_once} 位。",
    ),
    "plan.not_loaded": Text(
        "{name} has room here, but {build}, which is installed, would not load it.",
        "{name} 放得下，但已安装的 {build} 无法加载它。",
    ),
    # by size alone
    "plan.estimate": Text(
        "An estimate by the size of the file, since its header could not be read. {why}",
        "文件头无法读取，以下是按文件大小的估算。{why}",
    ),
    "plan.chosen": Text(
        "{name}: {quantization} ({size}) is the best of its files for this machine.",
        "{name}：{quantization}（{size}）是最适合该机器的文件。",
    ),
    "plan.asking": Text("Reading the header of {name} …", "正在读取 {name} 的文件头……"),
    "plan.no_geometry": Text(
        "The header of {name} could not be read, and its geometry is not known here.",
        "无法读取 {name} 的文件头，本程序也不知道它的结构。",
    ),
    "plan.no_geometry.next": Text(
        "Try again with a network: a few megabytes of the header are enough for a plan.",
        "请联网后重试：只需几 MB 的文件头即可规划。",
    ),
    "plan.no_size": Text(
        "Neither the header nor the size of {name} is known.",
        "{name} 的文件头和大小都未知。",
    ),
    "plan.no_size.next": Text(
        "Plan another of its files, or try again with a network.",
        "请规划它的其他文件，或联网后重试。",
    ),
    # speed
    "plan.speed.decode": Text(
        "Answers: {low} to {high}, waiting for {waits}",
        "生成：{low} 到 {high}，瓶颈：{waits}",
    ),
    "plan.speed.prefill": Text(
        "Reading a prompt of {prompt} tokens: {low} to {high}, waiting for {waits}",
        "处理 {prompt} 词元的提示词：{low} 到 {high}，瓶颈：{waits}",
    ),
    "plan.speed.first_token": Text(
        "First token after a prompt of {prompt} tokens: {low} to {high}, waiting for {waits}",
        "{prompt} 词元提示词的首字延迟：{low} 到 {high}，瓶颈：{waits}",
    ),
    "plan.speed.load": Text(
        "Loading: {low} to {high}, waiting for {waits}",
        "加载：{low} 到 {high}，瓶颈：{waits}",
    ),
    # the engine's own word
    "plan.check.agrees": Text(
        "Checked by the engine: {build} would allocate the same, to {difference}.",
        "已由引擎校验：{build} 的实际分配与预测相差不超过 {difference}。",
    ),
    "plan.check.same": Text(
        "Checked by the engine: {build} would allocate exactly the same.",
        "已由引擎校验：{build} 的实际分配与预测完全一致。",
    ),
    "plan.check.more": Text(
        "Checked by the engine: {build} would allocate up to {difference} more, on {device}.",
        "已由引擎校验：{build} 在{device}上的实际分配最多多出 {difference}。",
    ),
    "plan.check.less": Text(
        "Checked by the engine: {build} would allocate up to {difference} less, on {device}.",
        "已由引擎校验：{build} 在{device}上的实际分配最多少 {difference}。",
    ),
    "plan.check.no_header": Text(
        "Not checked by the engine: it needs the header of the file, which could not be read.",
        "未由引擎校验：校验需要文件头，而文件头无法读取。",
    ),
    "plan.check.none": Text(
        "The engine could not be asked: it needs Linux, NVIDIA GPUs or none, and the engine of "
        "the wheel.",
        "无法询问引擎：需要 Linux 系统、NVIDIA GPU（或没有 GPU）以及随附的引擎。",
    ),
    # profiles
    "plan.profile.safe": Text("Safe", "稳妥"),
    "plan.profile.balanced": Text("Balanced", "均衡"),
    "plan.profile.long_context": Text("Long context", "长上下文"),
    "plan.profile.fastest": Text("Fastest", "最快"),
    # the table, in GiB
    "plan.device.ram": Text("RAM", "内存"),
    "plan.column.device": Text("Device (GiB)", "设备（GiB）"),
    "plan.column.weights": Text("Weights", "权重"),
    "plan.column.kv": Text("KV", "KV"),
    "plan.column.compute": Text("Compute", "计算"),
    "plan.column.overhead": Text("Engine", "引擎"),
    "plan.column.others": Text("Others", "其他程序"),
    "plan.column.spare": Text("Spare", "剩余"),
    **plan_reasons.TEXTS,
    **plan_changes.TEXTS,
}
