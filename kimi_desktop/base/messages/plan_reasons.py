"""Plans: why everything is where it is, one sentence per decision."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
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
}
