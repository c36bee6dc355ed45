"""Settings, profile and data folder."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS = {
    "settings.unreadable": Text(
        "The settings file {path} could not be read: {detail}.",
        "无法读取设置文件 {path}：{detail}。",
    ),
    "settings.unreadable.next": Text(
        "Defaults are in use; the file is kept as it is until you change a setting.",
        "已改用默认设置；在你修改设置之前，原文件保持不变。",
    ),
    "settings.too_new": Text(
        "The settings in {path} come from a newer version (schema {found}, known here: {known}).",
        "{path} 中的设置来自更新的版本（格式 {found}，当前版本支持到 {known}）。",
    ),
    "settings.too_new.next": Text(
        "Update Kimi Desktop, or move the file away to start with defaults.",
        "请升级 Kimi Desktop，或移走该文件以使用默认设置。",
    ),
    "settings.bad_value": Text(
        "The setting {name} has a value that is not allowed: {value}.",
        "设置项 {name} 的值不被允许：{value}。",
    ),
    "settings.bad_value.next": Text(
        "Its default is in use.",
        "已使用该项的默认值。",
    ),
    "settings.not_saved": Text(
        "The settings could not be saved to {path}: {detail}.",
        "设置未能保存到 {path}：{detail}。",
    ),
    "settings.not_saved.next": Text(
        "They hold until you close the app. Check the folder's permissions and the free space.",
        "在关闭应用之前设置仍然有效。请检查文件夹权限和剩余空间。",
    ),
    "settings.data_read_only": Text(
        "The folder {path} cannot be written: {detail}.",
        "文件夹 {path} 无法写入：{detail}。",
    ),
    "settings.data_read_only.next": Text(
        "New chats stay in memory until it can be written again. Check its permissions.",
        "在恢复写入之前，新对话只保留在内存中。请检查文件夹权限。",
    ),
    "settings.disk_full": Text(
        "The disk that holds {path} is full.",
        "{path} 所在的磁盘已满。",
    ),
    "settings.disk_full.next": Text(
        "Free some space; what could not be written is kept in memory and tried again.",
        "请释放空间；未写入的内容保留在内存中并会重试。",
    ),
    "settings.already_running": Text(
        "Kimi Desktop is already running with this profile.",
        "Kimi Desktop 已在使用此配置运行。",
    ),
    "settings.already_running.next": Text(
        "Its window has been raised.",
        "已切换到正在运行的窗口。",
    ),
    "settings.unexpected": Text(
        "Something unexpected happened: {detail}.",
        "发生了意外情况：{detail}。",
    ),
    "settings.unexpected.next": Text(
        "You can go on. The log has the details.",
        "可以继续使用。详细信息见日志。",
    ),
}
