"""Models that other programs left on this computer."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "imports.not_there": Text(
        "There is nothing at {path}.",
        "{path} 处没有任何内容。",
    ),
    "imports.not_there.next": Text(
        "Check the spelling, and whether the drive is connected.",
        "请检查拼写，以及磁盘是否已连接。",
    ),
    "imports.nothing": Text(
        "{path} holds no model: no GGUF files, and no checkpoint with config.json and safetensors.",
        "{path} 中没有模型：既没有 GGUF 文件，也没有带 config.json 的 safetensors 模型。",
    ),
    "imports.nothing.next": Text(
        "Name the folder that holds the files, or the models folder of Ollama, LM Studio, Jan, "
        "Hugging Face or ModelScope.",
        "请指定文件所在的文件夹，或 Ollama、LM Studio、Jan、Hugging Face、ModelScope "
        "的模型文件夹。",
    ),
    "imports.incomplete": Text(
        "Not everything could be imported; files with a problem: {bad} of {count}.",
        "未能全部导入：{count} 个文件中有 {bad} 个存在问题。",
    ),
    "imports.incomplete.next": Text(
        "The files above say why. What is good is in the library.",
        "原因见上方各文件；完好的部分已加入模型库。",
    ),
    # how a model came out
    "imports.whole": Text(
        "{name}: {size} in the library, {count} checked, nothing copied.",
        "{name}：{size} 已加入模型库，已校验 {count} 个文件，未复制任何数据。",
    ),
    "imports.unproven": Text(
        "{name}: {size} in the library, nothing copied. Nothing here says what its {count} files "
        "should be; their hashes are kept from now on.",
        "{name}：{size} 已加入模型库，未复制任何数据。本机没有这 {count} 个文件的参考哈希值，"
        "从现在起会保留它们的哈希值。",
        "{name}: {size} in the library, nothing copied. Nothing here says what its file should be; "
        "its hash is kept from now on.",
    ),
    "imports.partial": Text(
        "{name}: not complete.",
        "{name}：不完整。",
    ),
    "imports.missing": Text(
        "{file}: its list names it, and it is not there.",
        "{file}：清单中有此文件，但实际不存在。",
    ),
    "imports.damaged": Text(
        "{file}: damaged. SHA-256 {found}, expected {expected}.",
        "{file}：已损坏。SHA-256 为 {found}，应为 {expected}。",
    ),
    "imports.name_taken": Text(
        "{file}: the library holds another file under this name.",
        "{file}：模型库中已有同名的其他文件。",
    ),
    "imports.unreadable": Text(
        "{file}: cannot be read ({detail}).",
        "{file}：无法读取（{detail}）。",
    ),
    "imports.no_weights": Text(
        "{file}: not imported, it begins like no GGUF or safetensors file.",
        "{file}：未导入，其内容不是 GGUF 或 safetensors 文件。",
    ),
    "imports.leads_out": Text(
        "{file}: not imported, it is a link to a file outside this folder.",
        "{file}：未导入，它是指向此文件夹之外的链接。",
    ),
    "imports.not_linked": Text(
        "{file}: cannot be linked into the library ({detail}); add its folder instead, or copy it.",
        "{file}：无法链接到模型库（{detail}）；请改为添加其所在文件夹，或复制该文件。",
    ),
    # where it was found
    "imports.origin.huggingface": Text("Hugging Face cache", "Hugging Face 缓存"),
    "imports.origin.modelscope": Text("ModelScope cache", "ModelScope 缓存"),
    "imports.origin.lm_studio": Text("LM Studio", "LM Studio"),
    "imports.origin.jan": Text("Jan", "Jan"),
    "imports.origin.ollama": Text("Ollama", "Ollama"),
    "imports.origin.folder": Text("folder", "文件夹"),
    "imports.checking": Text(
        "Checking {percent} % of {size}: {file}",
        "正在校验，共 {size}，已完成 {percent} %：{file}",
    ),
    "imports.found": Text(
        "{name}: {size}, {origin}, {place}",
        "{name}：{size}，{origin}，{place}",
    ),
    "imports.how": Text(
        "“kimi-desktop import PATH” takes one of them in.",
        "运行“kimi-desktop import 路径”即可导入其中一个。",
    ),
    "imports.no_places": Text(
        "The usual places of Hugging Face, ModelScope, LM Studio, Jan and Ollama hold no model.",
        "Hugging Face、ModelScope、LM Studio、Jan 和 Ollama 的常用位置中没有模型。",
    ),
}
