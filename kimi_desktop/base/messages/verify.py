"""What a verification found."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "verify.part.ok": Text("{file}: proven.", "{file}：校验通过。"),
    "verify.part.missing": Text("{file}: missing.", "{file}：缺失。"),
    "verify.part.short": Text(
        "{file}: cut off. {size} of {wanted} are there.",
        "{file}：被截断，仅有 {size}，应为 {wanted}。",
    ),
    "verify.part.long": Text(
        "{file}: too long. It has {size} and should have {wanted}.",
        "{file}：过长，现为 {size}，应为 {wanted}。",
    ),
    "verify.part.altered": Text(
        "{file}: altered. {bad} must be fetched again.",
        "{file}：内容已改变，需要重新获取 {bad}。",
    ),
    "verify.part.swapped": Text(
        "{file}: this is {other} under a wrong name.",
        "{file}：这其实是 {other}，文件名有误。",
    ),
    "verify.part.foreign": Text(
        "{file}: a file that does not belong to this model.",
        "{file}：不属于该模型的文件。",
    ),
    "verify.part.unproven": Text(
        "{file}: nothing here says what it should be. SHA-256 {found}; kept from now on.",
        "{file}：没有可供比对的哈希值。SHA-256 为 {found}，从现在起会保留。",
    ),
    "verify.part.mixed": Text(
        "{file}: of commit {detail}, and no commit has all parts of this set together.",
        "{file}：属于提交 {detail}，但没有任何提交同时包含这组分片的全部文件。",
    ),
    "verify.part.unreadable": Text(
        "{file}: cannot be read ({detail}).",
        "{file}：无法读取（{detail}）。",
    ),
    "verify.damaged_record": Text(
        "The record of what was proven could not be read: {path}. It is kept as {name}; what the "
        "files were before is not known, so download the model again to prove it.",
        "无法读取校验记录：{path}。它已保留为 {name}；文件原先的内容已无从得知，"
        "如需证明请重新下载该模型。",
    ),
    "verify.progress": Text(
        "Verifying {percent} % of {size} at {rate}, {eta} left",
        "正在校验，共 {size}，已完成 {percent} %，{rate}，剩余 {eta}",
    ),
    "verify.good": Text(
        "All {count} files are as they should be: {size} in {seconds} ({rate}).",
        "全部 {count} 个文件均无误：{size}，用时 {seconds}（{rate}）。",
        "The file is as it should be: {size} in {seconds} ({rate}).",
    ),
    "verify.unproven": Text(
        "Read: {count} files, {size} in {seconds} ({rate}). Of {unproven} of them nothing says "
        "what they should be; their hashes are kept from now on.",
        "已读取 {count} 个文件：{size}，用时 {seconds}（{rate}）。"
        "其中 {unproven} 个没有可供比对的哈希值，从现在起会保留。",
        "Read: {size} in {seconds} ({rate}). Nothing says what the file should be; its hash is "
        "kept from now on.",
    ),
    "verify.bad": Text(
        "Not as they should be: {bad} of {count} files.",
        "{count} 个文件中有 {bad} 个存在问题。",
    ),
    "verify.bad.next": Text(
        "“kimi-desktop verify --repair” puts right what it can and fetches only what is wrong.",
        "运行“kimi-desktop verify --repair”可修复问题，且只会重新获取有问题的部分。",
    ),
}
