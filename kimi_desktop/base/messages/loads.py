"""Whether an engine would load a model: what was found, and what to do."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "loads.known": Text(
        "{build} would load it: it knows the architecture, the tokenizer and the number formats.",
        "{build} 可以加载：它支持该架构、分词器和张量类型。",
    ),
    "loads.problem": Text(
        "{count} of {total} parts are missing, the first is {first}.",
        "{total} 个部分中缺少 {count} 个，第一个是 {first}。",
    ),
    "loads.problem.next": Text(
        "Download the missing parts into the same folder.", "请把缺少的部分下载到同一文件夹。"
    ),
    "loads.architecture": Text(
        "{build} does not know the architecture “{name}”.", "{build} 不支持“{name}”架构。"
    ),
    "loads.architecture.next": Text(
        "Use a newer build of the engine, or another model.",
        "请使用更新的引擎版本，或换用其他模型。",
    ),
    "loads.tokenizer": Text(
        "{build} does not know the model’s tokenizer (“{name}”).",
        "{build} 不支持该模型的分词器（“{name}”）。",
    ),
    "loads.tokenizer.next": Text(
        "Use a newer build of the engine: with an older one the file cannot be read.",
        "请使用更新的引擎版本：旧版本无法读取该文件。",
    ),
    "loads.tensor_type": Text(
        "{build} does not know a number format of this file (type {name}).",
        "{build} 不支持该文件中的一种张量类型（类型 {name}）。",
    ),
    "loads.tensor_type.next": Text(
        "Use a newer build of the engine, the fork that the file was made for, or another "
        "quantization.",
        "请使用更新的引擎版本、该文件所针对的分支版本，或换用其他量化。",
    ),
    "loads.metadata": Text(
        "{build} refuses the model’s metadata: {name}.", "{build} 拒绝该模型的元数据：{name}。"
    ),
    "loads.metadata.next": Text(
        "The file was made for another build: update the engine, or take a newer file.",
        "该文件是为其他版本制作的：请更新引擎，或换用更新的文件。",
    ),
    "loads.quantization": Text(
        "{build} does not know the quantization “{name}”.", "{build} 不支持“{name}”量化。"
    ),
    "loads.quantization.next": Text(
        "Use a newer version of the engine, or a checkpoint in another format.",
        "请使用更新的引擎版本，或换用其他格式的模型。",
    ),
    "loads.too_old": Text(
        "This model wants {floor} or newer; installed is {build}.",
        "该模型需要 {floor} 或更新版本，已安装的是 {build}。",
    ),
    "loads.too_old.next": Text(
        "Update the engine: with an older one it may load and still answer wrongly.",
        "请更新引擎：旧版本即使能加载，也可能回答错误。",
    ),
    "loads.broken_version": Text(
        "{build} is known to fail with this model.", "已知 {build} 运行该模型会出错。"
    ),
    "loads.broken_version.next": Text(
        "Install an earlier or a later version.", "请安装更早或更新的版本。"
    ),
    "loads.needs_code": Text(
        "The model brings Python code that the engine has to run.",
        "该模型自带 Python 代码，引擎必须运行它。",
    ),
    "loads.needs_code.next": Text(
        "Start it with --trust-remote-code, and only if you trust its maker.",
        "请使用 --trust-remote-code 启动，且仅在信任发布者时使用。",
    ),
    "loads.unclear": Text(
        "{build} gave no clear answer: {name}", "{build} 没有给出明确的答复：{name}"
    ),
    "loads.unclear.next": Text("A start will tell.", "启动后才能知道。"),
    "loads.not_asked": Text(
        "Nobody asked {build} whether it would load this model.",
        "尚未询问 {build} 能否加载该模型。",
    ),
    "loads.not_asked.next": Text(
        "Install or choose an engine in Settings.", "请在“设置”中安装或选择引擎。"
    ),
}
