"""What is known before the first byte of a download."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "preflight.space": Text(
        "{needed} of space is needed at {path}; {free} is free.",
        "{path} 需要 {needed} 空间，剩余 {free}。",
    ),
    "preflight.space_none": Text(
        "All of it is at {path} already.",
        "所需文件已全部在 {path}。",
    ),
    "preflight.space_short": Text(
        "{path} has {free} free, and {needed} is needed: {lacking} too little.",
        "{path} 剩余 {free}，需要 {needed}，还差 {lacking}。",
    ),
    "preflight.space_short.next": Text(
        "Free some space, choose another drive, or a smaller quantization.",
        "请释放空间、换一个磁盘，或选择更小的量化版本。",
    ),
    "preflight.space_queue": Text(
        "{path} has {free} free; {needed} is needed and {queued} more for the downloads in the "
        "queue: {lacking} too little.",
        "{path} 剩余 {free}；本次需要 {needed}，队列中的下载还需要 {queued}，还差 {lacking}。",
    ),
    "preflight.space_queue.next": Text(
        "Free some space, choose another drive, or cancel one of the downloads in the queue.",
        "请释放空间、换一个磁盘，或取消队列中的某个下载。",
    ),
    "preflight.newer_version": Text(
        "A newer version exists: {path} has {there}, the newest is {commit}. {count} files differ "
        "({files}).",
        "有新版本：{path} 中为 {there}，最新为 {commit}。有 {count} 个文件不同（{files}）。",
        "A newer version exists: {path} has {there}, the newest is {commit}. One file differs "
        "({files}).",
    ),
    "preflight.newer_version.next": Text(
        "The download replaces them, each when the new one is proven. To keep both, choose another "
        "folder.",
        "下载会在新文件通过校验后逐个替换它们。如需同时保留，请选择其他文件夹。",
    ),
    "preflight.other_version": Text(
        "{path} has another version, {there}; this one is {commit}. {count} files differ "
        "({files}).",
        "{path} 中是另一版本 {there}，本次为 {commit}。有 {count} 个文件不同（{files}）。",
        "{path} has another version, {there}; this one is {commit}. One file differs ({files}).",
    ),
    "preflight.other_version.next": Text(
        "The download replaces them, each when this one is proven. To keep both, choose another "
        "folder.",
        "下载会在文件通过校验后逐个替换它们。如需同时保留，请选择其他文件夹。",
    ),
    "preflight.unfinished": Text(
        "An unfinished download of these files in version {commit} ends with this one.",
        "这些文件的版本 {commit} 尚未下载完成，本次下载将取代它。",
    ),
    "preflight.unfinished.next": Text(
        "What is the same in both is used; {lost} of other partial files is removed.",
        "两者相同的部分会继续使用；其余 {lost} 未完成的文件会被删除。",
    ),
    "preflight.space_quota": Text(
        "Your quota leaves {free} at {path}, and {needed} is needed: {lacking} too little.",
        "你的磁盘配额在 {path} 只剩 {free}，需要 {needed}，还差 {lacking}。",
    ),
    "preflight.space_quota.next": Text(
        "Ask whoever runs this computer for more, or choose another drive.",
        "请向管理员申请更多配额，或换一个磁盘。",
    ),
    "preflight.file_size": Text(
        "The drive at {path} ({file_system}) holds no file above 4 GiB; {file} has {size}.",
        "{path} 所在磁盘（{file_system}）不支持超过 4 GiB 的文件；{file} 为 {size}。",
    ),
    "preflight.file_size.next": Text(
        "Choose another drive, or format this one with exFAT, NTFS or ext4 (files too large: "
        "{count}).",
        "请换一个磁盘，或将其格式化为 exFAT、NTFS 或 ext4（过大的文件：{count} 个）。",
    ),
    "preflight.read_only": Text(
        "Nothing can be written to {path}.",
        "无法写入 {path}。",
    ),
    "preflight.read_only.next": Text(
        "Choose a folder of your own, or another drive; this one is read-only for you.",
        "请选择自己有权限的文件夹或其他磁盘；当前位置对你是只读的。",
    ),
    "preflight.name_long": Text(
        "A name in this path is longer than the {limit} that the drive allows: {path}",
        "路径中有一个名称超过了磁盘允许的 {limit}：{path}",
    ),
    "preflight.name_long.next": Text(
        "Choose a folder on another drive.",
        "请选择其他磁盘上的文件夹。",
    ),
    "preflight.path_long": Text(
        "This path is longer than the {limit} that programs here can open: {path}",
        "该路径超过了本系统程序可打开的长度 {limit}：{path}",
    ),
    "preflight.path_long.next": Text(
        "Choose a models folder with a shorter path, such as one at the top of a drive.",
        "请选择路径更短的模型文件夹，例如磁盘根目录下的文件夹。",
    ),
    "preflight.proven": Text(
        "Every byte will be checked against the publisher's hashes (files: {count}).",
        "每个字节都会按发布者的哈希值校验（文件数：{count}）。",
    ),
    "preflight.unproven": Text(
        "No hash is published for {files}: only the size can be checked (files: {count}).",
        "{files} 没有公布哈希值，只能检查大小（文件数：{count}）。",
    ),
    "preflight.unproven.next": Text(
        "These are no weights. Another source may list their hashes.",
        "这些不是权重文件；其他来源可能公布了它们的哈希值。",
    ),
    "preflight.unproven_weights": Text(
        "No hash is published for the weights {files}: nobody could tell a damaged file "
        "(files: {count}).",
        "权重 {files} 没有公布哈希值，文件损坏也无从得知（文件数：{count}）。",
    ),
    "preflight.unproven_weights.next": Text(
        "Choose another source.",
        "请换一个来源。",
    ),
    "preflight.source": Text(
        "One source: {host}.",
        "来源：{host}。",
    ),
    "preflight.sources": Text(
        "{count} sources list the same hashes and can stand in for each other: {hosts}.",
        "{count} 个来源的哈希值一致，可互相替代：{hosts}。",
    ),
    "preflight.disagree": Text(
        "Another source lists other hashes for {files}; {host} is believed.",
        "另一来源对 {files} 给出了不同的哈希值；以 {host} 为准。",
    ),
    "preflight.disagree.next": Text(
        "It may only be older. Those files are fetched from {host} alone.",
        "对方可能只是版本较旧；这些文件只从 {host} 下载。",
    ),
    "preflight.mirror_alone": Text(
        "The hashes come from {host} alone, a mirror; the publisher's own hub did not answer.",
        "哈希值仅来自镜像站 {host}，发布者所在的站点没有响应。",
    ),
    "preflight.mirror_alone.next": Text(
        "Files are held to what the mirror says. To be sure, begin when huggingface.co can be "
        "reached.",
        "文件将以镜像站的说法为准；如需更可靠，请在能连接 huggingface.co 时开始。",
    ),
    "preflight.mirror_disagrees": Text(
        "{host}, a mirror, and another source list different hashes for {files}.",
        "镜像站 {host} 与另一来源对 {files} 给出的哈希值不同。",
    ),
    "preflight.mirror_disagrees.next": Text(
        "Nobody here can tell which is right. Wait for huggingface.co, or name one source.",
        "无法判断哪个正确。请等待 huggingface.co 恢复，或指定一个来源。",
    ),
    "preflight.suspicious": Text(
        "{repo} also holds files with unsafe names, which are refused: {names} (files: {count}).",
        "{repo} 中还有文件名不安全的文件，已拒绝：{names}（文件数：{count}）。",
    ),
    "preflight.suspicious.next": Text(
        "Look at the repository before you trust it.",
        "请先查看该仓库是否可信。",
    ),
    "preflight.pickles": Text(
        "Left out, since opening them can run code: {files} (files: {count}).",
        "以下文件打开时可能执行代码，不会下载：{files}（文件数：{count}）。",
    ),
    "preflight.code": Text(
        "Python files come along: {files} (files: {count}).",
        "会一并下载 Python 文件：{files}（文件数：{count}）。",
    ),
    "preflight.code.next": Text(
        "They run only if you let an engine run code of this model, which is asked then.",
        "只有在你允许引擎运行该模型的代码时才会执行，届时会询问。",
    ),
    "preflight.look_alike": Text(
        "“{owner}” looks like {known}, a well-known publisher, and is another one.",
        "“{owner}”看起来像知名发布者 {known}，但并不是同一个。",
    ),
    "preflight.look_alike.next": Text(
        "Check the name. If {known} was meant, search for it there.",
        "请核对名称；如果想要的是 {known}，请到其主页查找。",
    ),
    "preflight.publisher": Text(
        "Published by {owner}, who is not among the publishers known here.",
        "发布者 {owner} 不在已知发布者名单中。",
    ),
    "preflight.licence": Text(
        "Licence: {licence}. Commit {revision} of {repo} on {host}.",
        "许可协议：{licence}。{host} 上 {repo} 的提交 {revision}。",
    ),
    "preflight.licence_unpinned": Text(
        "Licence: {licence}. Branch {revision} of {repo} on {host}, held to its hashes of now.",
        "许可协议：{licence}。{host} 上 {repo} 的分支 {revision}，以当前哈希值为准。",
    ),
    "preflight.no_licence": Text(
        "{repo} on {host} names no licence ({revision}).",
        "{host} 上的 {repo} 没有注明许可协议（{revision}）。",
    ),
    "preflight.no_licence.next": Text(
        "Read the model's page before you use it for work.",
        "用于工作之前，请先阅读模型页面。",
    ),
    "preflight.verdict": Text(
        "{sentence} {rate}, estimated from the size.",
        "{sentence}{rate}（按文件大小估算）。",
    ),
    "preflight.verdict_unknown": Text(
        "Whether it fits is not known: neither its header nor its geometry is.",
        "无法判断能否放下：既没有读到文件头，也不知道它的结构。",
    ),
    "preflight.verdict_unknown.next": Text(
        "Once it is here, the Plan page says from its header where it would go.",
        "下载后，“规划”页会根据文件头给出放置方案。",
    ),
    "preflight.planned": Text(
        "{sentence} {rate}, planned with the header of the file.",
        "{sentence}{rate}（按文件头规划）。",
    ),
    "preflight.verdict_short": Text(
        "{sentence} Estimated from the size.",
        "{sentence}（按文件大小估算）。",
    ),
    "preflight.planned_short": Text(
        "{sentence} Planned with the header of the file.",
        "{sentence}（按文件头规划）。",
    ),
    "preflight.verdict_poor.next": Text(
        "A smaller quantization may fit. It can be fetched all the same, for another computer.",
        "更小的量化版本也许放得下；也可以先下载，留给其他机器使用。",
    ),
}
