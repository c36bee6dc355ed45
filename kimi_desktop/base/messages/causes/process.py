"""E: the process."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "engine_bug_crash",
        ("The engine crashed by itself.", "引擎自身崩溃。"),
        (
            "Nothing in its settings explains it: most likely a fault of this build.",
            "其设置无法解释这次崩溃：很可能是该版本的缺陷。",
        ),
        (
            "Try another build, or switch the feature off that the log names; keep the log.",
            "请尝试其他版本，或关闭日志中提到的功能；并保留日志。",
        ),
    ),
    **cause(
        "worker_lost",
        (
            "A worker on another machine was lost.",
            "与其他机器上的工作机失去连接。",
        ),
        (
            "Part of the model lies there, and llama.cpp cannot go on without it.",
            "模型的一部分在那台机器上，没有它 llama.cpp 无法继续。",
        ),
        (
            "Start the worker there again, of the same build as here, check it in Settings, then "
            "start the engine.",
            "请在那台机器上重新启动工作机（版本与本机相同），在“设置”中检查它，然后启动引擎。",
        ),
    ),
    **cause(
        "killed_from_outside",
        (
            "Somebody or something ended the engine.",
            "引擎被外部结束。",
        ),
        (
            "A task manager, a logout or a time-out did it; memory was not short.",
            "可能是任务管理器、注销或超时所致；内存并不紧张。",
        ),
        ("Start it again.", "请重新启动。"),
    ),
    **cause(
        "process_frozen",
        ("The engine stands still.", "引擎已停住。"),
        (
            "It was paused, or waits for a disk or a driver that does not answer.",
            "它被暂停，或正在等待没有响应的磁盘或驱动。",
        ),
        (
            "Let it continue (kill -CONT), or restart it.",
            "请让它继续运行（kill -CONT），或重新启动。",
        ),
    ),
    **cause(
        "storage_lost_while_running",
        (
            "The model file vanished or changed while the engine was using it.",
            "引擎运行时，模型文件消失或被改动。",
        ),
        (
            "The disk was disconnected, or the file was deleted, moved or shortened.",
            "磁盘被断开，或文件被删除、移动或截短。",
        ),
        (
            "Bring the disk back, verify the file and start again.",
            "请重新连接磁盘、校验文件后再启动。",
        ),
    ),
    **cause(
        "disk_full",
        ("The disk is full.", "磁盘已满。"),
        (
            "There is no room left for the files that the engine writes.",
            "没有空间写入引擎所需的文件。",
        ),
        ("Free space or move the folder.", "请清理空间，或移动文件夹。"),
    ),
}
