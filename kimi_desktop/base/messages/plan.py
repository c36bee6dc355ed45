"""Plans: why everything is where it is, what is missing, what helps instead."""

from __future__ import annotations

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
    # why: layers
    "plan.why.layers.all": Text(
        "All {layers} layers are on {gpus}: everything fits there, and VRAM is the fastest memory.",
        "全部 {layers} 层都放在 {gpus}：显存放得下，而且速度最快。",
    ),
    "plan.why.layers.experts": Text(
        "All {layers} layers are on {gpus}, with the experts of {experts_on_gpu} of {experts} "
        "layers; the experts of {in_ram} layers are in RAM, because a token reads only {used} "
        "of {count} of them.",
        "全部 {layers} 层都放在 {gpus}，其中 {experts_on_gpu}/{experts} 层的专家也在显存；"
        "另外 {in_ram} 层的专家放在内存，因为每个词元只读取 {count} 个专家中的 {used} 个。",
    ),
    "plan.why.layers.no_experts": Text(
        "All {layers} layers are on {gpus}, without their experts; those of all {in_ram} layers "
        "are in RAM, because a token reads only {used} of {count} of them.",
        "全部 {layers} 层都放在 {gpus}，但不含专家；全部 {in_ram} 层的专家放在内存，"
        "因为每个词元只读取 {count} 个专家中的 {used} 个。",
    ),
    "plan.why.layers.partial": Text(
        "{on_gpu} of {layers} layers are on {gpus}; more do not fit there, so the first ones "
        "are in RAM.",
        "{layers} 层中有 {on_gpu} 层放在 {gpus}；显存放不下更多，所以最前面的层在内存中。",
    ),
    "plan.why.layers.wished": Text(
        "{on_gpu} of {layers} layers are on GPUs and the experts of {in_ram} layers in RAM, as "
        "you chose.",
        "按您的选择，{layers} 层中有 {on_gpu} 层放在 GPU，{in_ram} 层的专家放在内存。",
    ),
    "plan.why.layers.wished_moe": Text(
        "The experts of {in_ram} layers are in RAM as you chose; {on_gpu} of {layers} layers are "
        "on {gpus}.",
        "按您的选择，{in_ram} 层的专家放在内存；{layers} 层中有 {on_gpu} 层放在 {gpus}。",
    ),
    "plan.why.layers.wished_experts": Text(
        "{on_gpu} of {layers} layers are on {gpus} as you chose; the experts of {in_ram} layers "
        "are in RAM, because more do not fit beside them.",
        "按您的选择，{layers} 层中有 {on_gpu} 层放在 {gpus}；{in_ram} 层的专家放在内存，"
        "因为显存放不下更多。",
    ),
    "plan.why.layers.wished_all": Text(
        "{on_gpu} of {layers} layers are on {gpus} as you chose.",
        "按您的选择，{layers} 层中有 {on_gpu} 层放在 {gpus}。",
    ),
    "plan.why.layers.wished_none": Text(
        "No layer is on a GPU, as you chose.",
        "按您的选择，没有任何层放在 GPU。",
    ),
    "plan.why.layers.unified": Text(
        "All {layers} layers are on the GPU, which shares the main memory.",
        "全部 {layers} 层都在 GPU 上，它与内存共用。",
    ),
    "plan.why.layers.no_gpu": Text(
        "Everything is in RAM: this machine has no GPU that can help.",
        "全部放在内存：本机没有可用的 GPU。",
    ),
    "plan.why.layers.engine_without": Text(
        "Everything is in RAM: the engine was built without GPU support.",
        "全部放在内存：该引擎不支持 GPU。",
    ),
    "plan.why.layers.too_small": Text(
        "Everything is in RAM: the GPU’s free memory does not hold even a part of the model "
        "beside its working memory.",
        "全部放在内存：GPU 的空闲显存除去工作内存后，连模型的一部分也放不下。",
    ),
    "plan.why.split": Text(
        "Layers are split by what each GPU can hold ({shares}).",
        "按各 GPU 的容量分配层数（{shares}）。",
    ),
    "plan.why.split.wished": Text(
        "Layers are split over the GPUs as you chose ({shares}).",
        "按您的选择在各 GPU 间分配层数（{shares}）。",
    ),
    "plan.why.idle": Text(
        "{gpus}: free, because a prompt and its answer would not be faster with it.",
        "{gpus}：保持空闲，因为使用它并不会让提示词处理和生成更快。",
    ),
    # why: context and cache
    "plan.why.context.wished": Text(
        "The context stays at {context} as you chose; its cache takes {size}.",
        "上下文保持您选择的 {context}，缓存占用 {size}。",
    ),
    "plan.why.context.chosen": Text(
        "The context is {context}, which this profile aims at; its cache takes {size}.",
        "上下文为 {context}，即该方案的目标值，缓存占用 {size}。",
    ),
    "plan.why.context.shorter": Text(
        "The context is {context} instead of the {aim} that this profile aims at: a longer one "
        "does not fit with this profile's reserve, or makes prompts or answers clearly slower; its "
        "cache takes {size}.",
        "上下文为 {context}，而不是该方案的目标值 {aim}：更长的在该方案的余量内放不下，"
        "或会使处理提示词或回答明显变慢；缓存占用 {size}。",
    ),
    "plan.why.context.whole": Text(
        "The context is {context}, all that the model was trained for; its cache takes {size}.",
        "上下文为 {context}，即模型训练时的完整长度，缓存占用 {size}。",
    ),
    "plan.why.context.beyond": Text(
        "{context} is more than the {train} that the model was trained for; answers may get worse.",
        "{context} 超过了模型训练时的 {train}，回答质量可能下降。",
    ),
    "plan.why.cache.wished": Text(
        "The KV cache is {type} as you chose.", "KV 缓存使用您选择的 {type}。"
    ),
    "plan.why.cache.plain": Text(
        "The KV cache is f16, without loss: making it smaller would not pay here.",
        "KV 缓存使用无损的 f16：在这里缩小它并不划算。",
    ),
    "plan.why.cache.quantized": Text(
        "The KV cache is {type}, about half of f16: the memory saved holds more of the model.",
        "KV 缓存使用 {type}，约为 f16 的一半：省下的显存可以放更多模型。",
    ),
    # why: working memory
    "plan.why.ubatch.wished": Text(
        "Prompts are read in pieces of {ubatch} tokens as you chose.",
        "按您的选择，提示词每次处理 {ubatch} 个词元。",
    ),
    "plan.why.ubatch.usual": Text(
        "Prompts are read in pieces of {ubatch} tokens, which keeps the working memory small.",
        "提示词每次处理 {ubatch} 个词元，以减小工作内存。",
    ),
    "plan.why.ubatch.small": Text(
        "Prompts are read in pieces of only {ubatch} tokens: with larger ones less of the model "
        "would fit.",
        "提示词每次只处理 {ubatch} 个词元：更大的批次会让显存放不下这么多模型。",
    ),
    "plan.why.ubatch.layers": Text(
        "Prompts are read in pieces of {ubatch} tokens: the layers in RAM cross PCIe once for "
        "every piece.",
        "提示词每次处理 {ubatch} 个词元：内存中的层每次都要经 PCIe 传输一遍。",
    ),
    "plan.why.ubatch.staged": Text(
        "Prompts are read in pieces of {ubatch} tokens: the experts in RAM cross PCIe once for "
        "every piece.",
        "提示词每次处理 {ubatch} 个词元：内存中的专家每次都要经 PCIe 传输一遍。",
    ),
    "plan.why.no_staging": Text(
        "Weights in RAM are not brought to the GPU for long prompts: the room for that is "
        "missing, so prompts are read more slowly.",
        "处理长提示词时不把内存中的权重传到 GPU：显存不足，因此提示词处理较慢。",
    ),
    "plan.why.no_repack": Text(
        "Weights are not rearranged for the CPU, so that they stay pages of the file.",
        "不为 CPU 重排权重，使其仍是可释放的文件页。",
    ),
    # why: main memory and threads
    "plan.why.load.wished": Text(
        "Weights are loaded with “{mode}” as you chose.", "按您的选择，以“{mode}”方式加载权重。"
    ),
    "plan.why.load.mmap": Text(
        "Weights are mapped from the file (mmap): the page cache keeps them for the next start.",
        "权重以 mmap 映射文件：页缓存会保留它们，下次启动更快。",
    ),
    "plan.why.load.mmap_rest": Text(
        "The file is mapped (mmap) while it is read; what is not rearranged stays in the page "
        "cache for the next start.",
        "读取时以 mmap 映射文件；未重排的部分留在页缓存中，下次启动更快。",
    ),
    "plan.why.repacked": Text(
        "{size} of the weights are rearranged for the processors (repacked): no pages of the file "
        "any more but the engine’s own memory, which the system cannot let go of.",
        "{size} 权重会为处理器重新排列（repack）：它们不再是文件页，"
        "而是引擎自有内存，系统无法回收。",
    ),
    "plan.why.load.gpu": Text(
        "Weights are mapped from the file (mmap) and copied to VRAM; the file’s pages can go "
        "afterwards.",
        "权重以 mmap 映射文件并复制到显存，之后文件页可以释放。",
    ),
    "plan.why.load.pinned": Text(
        "Weights in RAM are not mapped from the file (no mmap) but pinned: the GPU fetches them "
        "faster, and no other program can push them out of the page cache.",
        "内存中的权重不使用 mmap，而是锁页存放：GPU 读取更快，也不会被其他程序挤出页缓存。",
    ),
    "plan.why.load.locked": Text(
        "Weights are mapped from the file and locked (mlock), so that other programs cannot push "
        "them out of RAM.",
        "权重以 mmap 映射并用 mlock 锁定，其他程序无法把它们挤出内存。",
    ),
    "plan.why.load.disk": Text(
        "Weights are mapped from the file (mmap), since RAM does not hold them with its reserve.",
        "权重以 mmap 映射文件，因为扣除预留后内存放不下。",
    ),
    "plan.why.threads.wished": Text(
        "{count} threads, as you chose.",
        "按您的选择使用 {count} 个线程。",
        "One thread, as you chose.",
    ),
    "plan.why.threads.cores": Text(
        "{count} threads, one per physical core: more would wait for the same memory.",
        "{count} 个线程，每个物理核心一个：更多线程只会等待同一内存。",
        "One thread: there is one physical core.",
    ),
    "plan.why.threads.socket": Text(
        "{count} threads, one per physical core of one of {sockets} sockets: threads across "
        "sockets wait for each other’s memory.",
        "{count} 个线程，即 {sockets} 路处理器中一路的物理核心数：跨路线程会互相等待内存。",
    ),
    "plan.why.threads.spread": Text(
        "{count} threads, as many as one of {sockets} sockets has physical cores: more would "
        "mostly wait for memory of the other sockets.",
        "{count} 个线程，等于 {sockets} 路处理器中一路的物理核心数："
        "更多线程大多只会等待其他路的内存。",
    ),
    "plan.why.threads.allowed": Text(
        "{count} threads: this process may use no more cores.",
        "{count} 个线程：该进程可用的核心只有这么多。",
    ),
    "plan.why.numa.isolate": Text(
        "Threads stay on one of {nodes} sockets, whose memory holds all that they read.",
        "线程固定在 {nodes} 路处理器中的一路，该路内存放得下所需的全部权重。",
    ),
    "plan.why.numa.whole": Text(
        "Threads and weights go over all {nodes} memory nodes: one is only a part of a socket, "
        "with a part of its cores and bandwidth; turn automatic NUMA balancing off.",
        "线程和权重分布到全部 {nodes} 个 NUMA 节点：单个节点只是一路处理器的一部分，"
        "核心与带宽也只有一部分；请关闭自动 NUMA 平衡。",
    ),
    "plan.why.numa.threads": Text(
        "Threads and weights go over all {nodes} memory nodes: one has fewer cores than you want "
        "threads; turn automatic NUMA balancing off.",
        "线程和权重分布到全部 {nodes} 个 NUMA 节点：单个节点的核心少于您指定的线程数；"
        "请关闭自动 NUMA 平衡。",
    ),
    "plan.why.numa.distribute": Text(
        "Threads and weights go over all {nodes} memory nodes, since one does not hold them; "
        "turn automatic NUMA balancing off.",
        "线程和权重分布到全部 {nodes} 个 NUMA 节点，因为一个节点放不下；请关闭自动 NUMA 平衡。",
    ),
    # why: reserves
    "plan.why.reserve.kept": Text(
        "{percent} % of every device stays free; the tightest is {device} with {spare}.",
        "每个设备保留 {percent}% 空闲；最紧的是 {device}，剩余 {spare}。",
    ),
    "plan.why.reserve.broken": Text(
        "{device} keeps only {spare}, less than {percent} % of it.",
        "{device} 只剩 {spare}，不足其 {percent}%。",
    ),
    "plan.why.reserve.short": Text(
        "{device} is {spare} short.",
        "{device} 还差 {spare}。",
    ),
    "plan.why.estimate": Text(
        "This model or this placement of it was not measured, so the figures are an estimate and "
        "more stays free.",
        "该模型或这种放置方式未经实测，数字为估算值，因此预留更多空间。",
    ),
    "plan.why.fit_off": Text(
        "The engine’s own fitting is off: it would cut the context and does not count RAM.",
        "关闭引擎自带的自动适配：它会缩短上下文，而且不计算内存。",
    ),
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
