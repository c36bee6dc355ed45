"""Server engines (vLLM, SGLang): how a model is served, what refuses it, what it would take."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    # verdict
    "vllm.on_cpu": Text(
        "This vLLM was built for the processor: the weights stay in RAM, and only small models"
        " answer at a useful speed.",
        "这个 vLLM 是为 CPU 编译的：权重放在内存中，只有小模型才有可用的速度。",
    ),
    "vllm.fits": Text(
        "{engine} serves {name} on {gpus}: {tokens} tokens of cache, {users} at {context} each",
        "{engine} 可在 {gpus} 上运行 {name}：缓存 {tokens} 个词元，可容纳 {users}"
        "（每人 {context}）",
    ),
    "vllm.users.one": Text("one user", "1 位用户"),
    "vllm.users.many": Text("{count} users", "{count} 位用户"),
    "vllm.gpus.one": Text("one GPU", "1 张 GPU"),
    "vllm.gpus.many": Text("{count} GPUs", "{count} 张 GPU"),
    "vllm.refused": Text("{engine} cannot serve {name} here", "{engine} 无法在本机运行 {name}"),
    # what it would take
    "vllm.needed": Text(
        "{name} needs {needed} here; {have}: {instead}.",
        "{name} 在此需要 {needed}；{have}：{instead}。",
    ),
    "vllm.needed.none": Text(
        "{name} needs more here than 32 cards of 180 GB; {have}: {instead}.",
        "{name} 在此需要的显存超过 32 张 180 GB 显卡；{have}：{instead}。",
    ),
    "vllm.needed.users": Text(
        "{users} at once with {context} tokens each need {needed}; {have}.",
        "{users}同时使用、每人 {context} 个词元，需要 {needed}；{have}。",
    ),
    "vllm.needed.busy": Text(
        "{name} would fit on {needed}, which is here but not free: close what holds {others}.",
        "{name} 在 {needed} 上放得下，本机也有，但并不空闲：请关闭占用 {others} 显存的程序。",
    ),
    "vllm.have": Text("you have {cards}", "本机有 {cards}"),
    "vllm.have.none": Text("you have no GPU", "本机没有 GPU"),
    "vllm.cards": Text("{count} x {size} GB", "{count} × {size} GB"),
    "vllm.cards.and": Text("{first} and {second}", "{first} 与 {second}"),
    "vllm.instead.experts": Text(
        "use llama.cpp with experts in RAM", "请改用 llama.cpp，把专家放在内存"
    ),
    "vllm.instead.layers": Text(
        "use llama.cpp with some layers in RAM", "请改用 llama.cpp，把部分层放在内存"
    ),
    "vllm.instead.smaller": Text(
        "use llama.cpp with a smaller quantization", "请改用 llama.cpp 和更小的量化"
    ),
    "vllm.instead.context": Text(
        "{instead}, or ask for a context of {context}", "{instead}，或把上下文缩短到 {context}"
    ),
    # problems
    "vllm.problem.too_few_gpus": Text(
        "This split wants {needed} GPUs; there are {count}.",
        "该切分方式需要 {needed} 张 GPU，本机只有 {count} 张。",
    ),
    "vllm.problem.heads": Text(
        "A tensor-parallel size of {size} does not divide the model’s {heads} attention heads.",
        "模型的 {heads} 个注意力头无法被张量并行数 {size} 整除。",
    ),
    "vllm.problem.kv_heads": Text(
        "The model’s {heads} heads of K and V do not go with a tensor-parallel size of {size}.",
        "模型的 {heads} 个 KV 头与张量并行数 {size} 不匹配。",
    ),
    "vllm.problem.columns": Text(
        "A matrix of {columns} columns cannot be divided into {size} equal parts of whole "
        "quantization groups.",
        "{columns} 列的矩阵无法按完整的量化分组等分为 {size} 份。",
    ),
    "vllm.problem.stages": Text(
        "{size} pipeline stages are more than the model’s {layers} layers.",
        "流水线段数 {size} 超过了模型的 {layers} 层。",
    ),
    "vllm.problem.decode_context": Text(
        "A decode-context size of {size} does not go with a tensor-parallel size of {tensor}.",
        "解码上下文并行数 {size} 与张量并行数 {tensor} 不匹配。",
    ),
    "vllm.problem.not_free": Text(
        "The engine reserves {wanted} of {device} ({share} of it), but only {free} is free; it "
        "would refuse to start.",
        "引擎要在 {device} 上预留 {wanted}（占 {share}），但只有 {free} 空闲，因此会拒绝启动。",
    ),
    "vllm.problem.weights": Text(
        "A GPU’s share of the weights ({weights}) and of working memory ({working}) leaves nothing "
        "of its budget of {budget} for a cache.",
        "每张 GPU 的权重（{weights}）和工作内存（{working}）用尽了 {budget} 的预算，没有留给 KV "
        "缓存的显存。",
    ),
    "vllm.problem.context": Text(
        "The cache holds {tokens} tokens, not one sequence of {context}.",
        "缓存只能容纳 {tokens} 个词元，放不下一条 {context} 的序列。",
    ),
    "vllm.problem.host": Text(
        "{short} of RAM is missing for the server and what it keeps there.",
        "服务进程及其放在内存中的权重还差 {short} 内存。",
    ),
    # why
    "vllm.why.single": Text("The whole model is on one GPU.", "整个模型放在一张 GPU 上。"),
    "vllm.why.tensor": Text(
        "Every layer is divided over {count} GPUs (tensor parallel): all of them work on every "
        "token, and each holds {weights} of weights.",
        "每一层都分到 {count} 张 GPU（张量并行）：所有 GPU 共同计算每个词元，"
        "每张放 {weights} 权重。",
    ),
    "vllm.why.users": Text(
        "You asked for {users} users: {at_once} at {context} tokens each fit at once, the others "
        "wait in the queue; all of them at once would have {tokens} tokens each.",
        "您要求 {users} 位用户：同时只能容纳 {at_once} 位（每人 {context} 个词元），其余排队等待；"
        "若全部同时使用，每人只有 {tokens} 个词元。",
    ),
    "vllm.why.fewer": Text(
        "{least} of these {used} GPUs would hold it, too: more of them answer faster and hold more "
        "users.",
        "这 {used} 张 GPU 中 {least} 张也能容纳：更多 GPU 回答更快，可容纳的用户也更多。",
    ),
    "vllm.why.idle.others": Text(
        "Only the {used} {name} are used: a group works at the pace of its slowest GPU and with "
        "the memory of its smallest.",
        "只使用 {used} 张 {name}：一组 GPU 的速度取决于最慢的一张，显存取决于最小的一张。",
    ),
    "vllm.why.idle.sizes": Text(
        "{used} of {count} GPUs are used: the model cannot be divided evenly over more.",
        "使用 {count} 张 GPU 中的 {used} 张：模型无法在更多 GPU 上均匀切分。",
    ),
    "vllm.why.pipeline": Text(
        "The layers go over {count} stages, one after the other (pipeline parallel): for memory, "
        "not for speed.",
        "各层依次分到 {count} 段（流水线并行）：为了容量，而不是速度。",
    ),
    "vllm.why.experts": Text(
        "Experts are dealt out whole (expert parallel) instead of being divided inside.",
        "专家整个分给各张 GPU（专家并行），而不是在内部切分。",
    ),
    "vllm.why.decode_context": Text(
        "The cache of every sequence is spread over {count} GPUs (decode-context parallel), which "
        "holds {count} times the tokens.",
        "每条序列的缓存分布在 {count} 张 GPU（解码上下文并行），可容纳 {count} 倍的词元。",
    ),
    "vllm.why.latent": Text(
        "This model caches one latent per token (MLA, {size}), and every GPU keeps all of it: more "
        "tensor parallelism gives no more context, decode-context parallelism does.",
        "该模型每个词元只缓存一个潜向量（MLA，{size}），且每张 GPU 都保存一份：增加张量并行数"
        "不会增加上下文，解码上下文并行才会。",
    ),
    "vllm.why.cache": Text(
        "One token takes {size} of cache on each GPU; {blocks} blocks of {block} tokens fit.",
        "每个词元在每张 GPU 上占用 {size} 缓存；共有 {blocks} 个缓存块，每块 {block} 个词元。",
    ),
    "vllm.why.tokens": Text(
        "One token takes {size} of cache on each GPU; {tokens} tokens fit.",
        "每个词元在每张 GPU 上占用 {size} 缓存；可容纳 {tokens} 个词元。",
    ),
    "vllm.why.share": Text(
        "The engine reserves {percent} % of each GPU instead of its usual {usual} %, because other "
        "programs hold {others}: it would refuse to start.",
        "引擎在每张 GPU 上预留 {percent}%，而不是通常的 {usual}%：其他程序占用了 {others}，"
        "否则引擎会拒绝启动。",
    ),
    "vllm.why.budget": Text(
        "{percent} % of each GPU is reserved ({budget}): weights {weights}, working memory "
        "{working}, cache {cache}.",
        "每张 GPU 预留 {percent}%（{budget}）：权重 {weights}，工作内存 {working}，缓存 {cache}。",
    ),
    "vllm.why.static": Text(
        "Weights and cache take {percent} % of what is free on each GPU ({budget}); the rest is "
        "working memory.",
        "权重和缓存占每张 GPU 空闲显存的 {percent}%（{budget}），其余为工作内存。",
    ),
    "vllm.why.context": Text(
        "The context is {context} instead of the model’s {train}: more does not fit beside the "
        "weights.",
        "上下文为 {context}，而不是模型的 {train}：除权重外放不下更多。",
    ),
    "vllm.why.offload": Text(
        "{size} of weights per GPU stay in RAM (pinned) and cross PCIe for every step: slow.",
        "每张 GPU 有 {size} 权重放在内存（锁页），每一步都要经过 PCIe，速度慢。",
    ),
    "vllm.why.sizes": Text(
        "Tensor-parallel sizes that this model allows here: {sizes}.",
        "该模型在本机可用的张量并行数：{sizes}。",
    ),
    "vllm.why.code": Text(
        "The repository brings Python code that the engine has to run (--trust-remote-code): do it "
        "only for makers you trust.",
        "该仓库自带 Python 代码，引擎必须运行它（--trust-remote-code）：仅在信任发布者时使用。",
    ),
    "vllm.why.missing": Text(
        "Parts of the model are missing; the figures count only those that are there.",
        "模型缺少部分文件；数字只计入已有的部分。",
    ),
    "vllm.why.estimate": Text(
        "A rule of this model is not known here: the figures are an estimate.",
        "该模型的某些规则在此未知：数字为估算值。",
    ),
    "vllm.also": Text(
        "Also possible: {flags} ({tokens} tokens, {users} at a time)",
        "也可以：{flags}（{tokens} 个词元，同时 {users}）",
    ),
}
