"""Fetching and proving files."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "downloads.offline": Text(
        "{host} cannot be reached.",
        "无法连接到 {host}。",
    ),
    "downloads.offline.next": Text(
        "Check the network and the proxy, then try again. What is there already is kept.",
        "请检查网络和代理后重试；已下载的部分会保留。",
    ),
    "downloads.not_found": Text(
        "{host} does not have {file} in {repo}.",
        "{host} 的 {repo} 中没有 {file}。",
    ),
    "downloads.not_found.next": Text(
        "It may have been renamed or removed. Choose another model, or add a file of your own.",
        "它可能已改名或被移除。请选择其他模型，或添加自己的文件。",
    ),
    "downloads.refused": Text(
        "{host} refuses the download: {detail}.",
        "{host} 拒绝了下载：{detail}。",
    ),
    "downloads.refused.next": Text(
        "Try again later. Some models ask you to accept a licence on their page first.",
        "请稍后再试。有些模型需要先在其页面上接受许可协议。",
    ),
    "downloads.redirect": Text(
        "{host} sends the download to an address that is not followed: {address}.",
        "{host} 将下载转向了不会跟随的地址：{address}。",
    ),
    "downloads.redirect.next": Text(
        "Try another source. If every source does so, something on the way changes its answers.",
        "请换一个来源。如果所有来源都如此，说明途中有设备改动了应答。",
    ),
    "downloads.portal": Text(
        "A web page came instead of the file from {host}: this network wants a sign-in.",
        "{host} 返回的是网页而不是文件：当前网络需要先登录。",
    ),
    "downloads.portal.next": Text(
        "Open a browser, sign in to the network, then try again. Nothing of that page was kept.",
        "请打开浏览器登录网络后重试；该网页的内容未被保存。",
    ),
    "downloads.broken": Text(
        "The download from {host} broke off: {detail}.",
        "从 {host} 的下载中断：{detail}。",
    ),
    "downloads.broken.next": Text(
        "It goes on where it stopped; try again if it does not by itself.",
        "会从中断处继续（断点续传）；如未自动继续，请重试。",
    ),
    "downloads.bad_listing": Text(
        "{host} describes the file in a way that makes no sense: {detail}.",
        "{host} 对文件的描述无效：{detail}。",
    ),
    "downloads.bad_listing.next": Text(
        "Try again later, or another source.",
        "请稍后再试，或换一个来源。",
    ),
    "downloads.hash_mismatch": Text(
        "{file} from {host} is not what it should be: SHA-256 {found}, expected {expected}.",
        "来自 {host} 的 {file} 校验不符：SHA-256 为 {found}，应为 {expected}。",
    ),
    "downloads.hash_mismatch.next": Text(
        "It was set aside and is not used. Try again, or another source.",
        "该文件已被隔离，不会使用。请重试，或换一个来源。",
    ),
    "downloads.no_space": Text(
        "There is not enough space at {path}: {needed} needed, {free} free.",
        "{path} 空间不足：需要 {needed}，剩余 {free}。",
    ),
    "downloads.no_space.next": Text(
        "Free some space, or choose a models folder on another drive. What is there is kept.",
        "请释放空间，或选择其他磁盘上的模型文件夹；已下载的部分会保留。",
    ),
    "downloads.not_written": Text(
        "The file cannot be written to {path}: {detail}.",
        "文件无法写入 {path}：{detail}。",
    ),
    "downloads.not_written.next": Text(
        "Check the folder's permissions and whether its drive is connected.",
        "请检查文件夹权限，以及所在磁盘是否已连接。",
    ),
    "downloads.part_gone": Text(
        "Another program removed or changed the partial file {path}.",
        "其他程序删除或更改了未完成的文件 {path}。",
    ),
    "downloads.part_gone.next": Text(
        "Resume: what is still there is checked and kept, the rest is fetched again.",
        "请继续下载：仍在的部分会校验并保留，其余重新获取。",
    ),
    "downloads.changed": Text(
        "{host} has another version of {file} by now.",
        "{host} 上的 {file} 已变为其他版本。",
    ),
    "downloads.changed.next": Text(
        "Start the download anew to get that version, or use another source.",
        "请重新开始下载以获取该版本，或换一个来源。",
    ),
    "downloads.clock_wrong": Text(
        "{host} cannot be trusted at this computer's date and time: {detail}.",
        "按本机的日期和时间无法信任 {host}：{detail}。",
    ),
    "downloads.clock_wrong.next": Text(
        "Set the clock, then resume.",
        "请校准系统时间后继续。",
    ),
    "downloads.file_too_large": Text(
        "The file system at {path} takes no files of this size (FAT32 ends at 4 GiB).",
        "{path} 所在的文件系统无法存放这么大的文件（FAT32 上限为 4 GiB）。",
    ),
    "downloads.file_too_large.next": Text(
        "Choose a folder on another drive, or a model in smaller parts.",
        "请选择其他磁盘上的文件夹，或分片更小的模型。",
    ),
    "downloads.folder_busy": Text(
        "Another Kimi Desktop is downloading into {path}.",
        "另一个 Kimi Desktop 正在向 {path} 下载。",
    ),
    "downloads.folder_busy.next": Text(
        "Watch it there, or end it and resume here.",
        "请在那边查看进度，或结束它后在此继续。",
    ),
    "downloads.volume_gone": Text(
        "The drive with {path} is not connected.",
        "{path} 所在的磁盘未连接。",
    ),
    "downloads.volume_gone.next": Text(
        "Connect it: the download goes on by itself, with everything that is there.",
        "请连接该磁盘：下载会自动继续，已下载的部分仍然有效。",
    ),
    "downloads.held": Text(
        "Another program holds {path}, perhaps a virus scanner.",
        "{path} 正被其他程序占用，可能是杀毒软件。",
    ),
    "downloads.held.next": Text(
        "Resume in a minute: everything is there and proven.",
        "请稍后继续：内容已全部下载并通过校验。",
    ),
    "downloads.other_version": Text(
        "{file} was proven in another version ({there}) since this download of {commit} was asked "
        "for.",
        "在请求下载 {commit} 之后，{file} 已有另一版本（{there}）并通过校验。",
    ),
    "downloads.other_version.next": Text(
        "Nothing was replaced. Keep what is there and take this download off the list, or fetch "
        "this older version over it.",
        "没有替换任何文件。可保留现有版本并移除此下载，或用这个较旧的版本覆盖。",
    ),
    "downloads.queue_failed": Text(
        "The list of downloads at {path} cannot be read or saved: {detail}.",
        "无法读取或保存下载列表 {path}：{detail}。",
    ),
    "downloads.queue_failed.next": Text(
        "Free some space and check the folder's permissions. What was downloaded is kept.",
        "请释放空间并检查文件夹权限；已下载的内容会保留。",
    ),
    "downloads.stopped": Text(
        "{title} is not downloaded, for the reasons above.",
        "由于上述原因，未下载 {title}。",
    ),
    "downloads.stopped.next": Text(
        "Settle them, then run the command again. Nothing was written.",
        "请先解决这些问题，然后重新运行命令；没有写入任何内容。",
    ),
    "downloads.asking": Text("Asking {hosts}…", "正在查询 {hosts}…"),
    "downloads.plan": Text(
        "{title}: {count} files, {size} ({missing} to fetch), commit {commit}",
        "{title}：{count} 个文件，{size}（待获取 {missing}），提交 {commit}",
        "{title}: one file, {size} ({missing} to fetch), commit {commit}",
    ),
    "downloads.to": Text("To {path}", "保存到 {path}"),
    "downloads.ready": Text(
        "{title}: {size}, every byte proven. {path}",
        "{title}：{size}，每个字节均已校验。{path}",
    ),
    "downloads.interrupted": Text(
        "Paused. {size} are on the disk and kept; the same command goes on from there.",
        "已暂停。{size} 已写入磁盘并保留；再次运行同一命令即可断点续传。",
    ),
    "downloads.line.bytes": Text("{done} of {total}", "{done} / {total}"),
    "downloads.line.left": Text("{time} left", "剩余 {time}"),
    "downloads.no_repair": Text(
        "Nobody is known who offers {file} of {path}, so it cannot be repaired.",
        "不知道从哪里获取 {path} 中的 {file}，无法修复。",
    ),
    "downloads.no_repair.next": Text(
        "Move that file away, then download the model again into the same folder: what is right "
        "there is found and kept.",
        "请先移走该文件，再将模型重新下载到同一文件夹：其中正确的内容会被识别并保留。",
    ),
    "downloads.leads_out": Text(
        "{path} is a link that leads out of the model's folder, to {place}.",
        "{path} 是一个指向模型文件夹之外的链接（{place}）。",
    ),
    "downloads.leads_out.next": Text(
        "Remove the link, or download into another folder.",
        "请移除该链接，或下载到其他文件夹。",
    ),
    "downloads.repair_several": Text(
        "Several models in {path} have problems: {names}.",
        "{path} 中有多个模型存在问题：{names}。",
    ),
    "downloads.repair_several.next": Text(
        "Repair them one by one: name the folder of one model.",
        "请逐个修复：指定单个模型的文件夹。",
    ),
    "downloads.repair_mixed": Text(
        "The parts in {path} are of several commits: {commits}.",
        "{path} 中的分片来自多个提交：{commits}。",
    ),
    "downloads.repair_mixed.next": Text(
        "Download the one that you want into the same folder, as “kimi-desktop download "
        "{repo}@COMMIT” does: what belongs to it is kept.",
        "请将所需的提交下载到同一文件夹，例如运行“kimi-desktop download {repo}@提交”："
        "属于该提交的文件会保留。",
    ),
    "downloads.unknown": Text(
        "There is no such download any more.",
        "该下载已不存在。",
    ),
    "downloads.unknown.next": Text(
        "Start it anew: what is on the disk is found and used.",
        "请重新开始下载：磁盘上已有的内容会被识别并使用。",
    ),
    "downloads.state.queued": Text("Queued", "排队中"),
    "downloads.state.downloading": Text("Downloading", "下载中"),
    "downloads.state.verifying": Text("Verifying", "校验中"),
    "downloads.state.verifying_shard": Text(
        "Verifying shard {shard} of {shards}", "正在校验第 {shard} / {shards} 个分片"
    ),
    "downloads.state.repairing": Text("Repairing", "修复中"),
    "downloads.state.paused": Text("Paused", "已暂停"),
    "downloads.state.ready": Text("Ready", "就绪"),
    "downloads.state.failed": Text("Failed", "失败"),
    "downloads.worker_died": Text(
        "The download process ended unexpectedly: {detail}.",
        "下载进程意外退出：{detail}。",
    ),
    "downloads.worker_died.next": Text(
        "Try again: it goes on where it stopped.",
        "请重试：会从中断处继续（断点续传）。",
    ),
}
