"""C: the model's files."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "not_a_model_file",
        (
            "This file is not a model for this engine.",
            "该文件不是此引擎可用的模型。",
        ),
        (
            "It is a web page, a Git LFS pointer, or a model in another engine's format.",
            "它可能是网页、Git LFS 指针，或其他引擎格式的模型。",
        ),
        (
            "Download the model's own file, or use the engine for this format.",
            "请下载模型文件本身，或使用支持该格式的引擎。",
        ),
    ),
    **cause(
        "file_truncated",
        ("The model file is not complete.", "模型文件不完整。"),
        ("The download stopped early.", "下载提前中断。"),
        ("Resume the download; only the rest is fetched.", "请继续下载；只会获取缺少的部分。"),
    ),
    **cause(
        "file_corrupted",
        ("The model file is damaged.", "模型文件已损坏。"),
        (
            "It has its size but some of its content is wrong.",
            "文件大小正确，但部分内容有误。",
        ),
        (
            "Verify it; only the damaged part is fetched again.",
            "请校验文件；只会重新获取损坏的部分。",
        ),
    ),
    **cause(
        "shard_set_incomplete",
        ("A part of the model is missing.", "模型缺少分片。"),
        (
            "A part was not downloaded, was renamed, or comes from another set.",
            "某个分片没有下载、被改名，或来自另一套文件。",
        ),
        (
            "Download the missing part and open the set by its first file.",
            "请下载缺少的分片，并从第一个文件打开。",
        ),
    ),
    **cause(
        "model_metadata_mismatch",
        (
            "The description inside the model and its weights do not belong together.",
            "模型的元数据与权重不一致。",
        ),
        (
            "The conversion was made with the wrong or another version's converter.",
            "转换时使用了错误的或版本不符的转换程序。",
        ),
        ("Take another conversion of the model.", "请改用该模型的其他转换版本。"),
    ),
    **cause(
        "engine_too_old_for_model",
        ("The engine does not know this model yet.", "引擎尚不支持该模型。"),
        ("The model is newer than the engine.", "模型比引擎更新。"),
        ("Update the engine.", "请更新引擎。"),
    ),
    **cause(
        "format_unsupported_by_engine",
        (
            "This engine cannot read the model's format or quantization.",
            "该引擎无法读取此模型的格式或量化。",
        ),
        (
            "It is an old format, belongs to a fork of the engine, or is for another byte order.",
            "它可能是旧格式、某个分支专用的格式，或字节序不同。",
        ),
        (
            "Take a common quantization, or the engine that reads this one.",
            "请选择常见的量化，或使用支持它的引擎。",
        ),
    ),
    **cause(
        "tokenizer_unsupported",
        (
            "The model's tokenizer is unknown to the engine or missing.",
            "引擎不支持该模型的分词器，或缺少分词器文件。",
        ),
        (
            "The model is newer than the engine, or files of the tokenizer were left out.",
            "模型比引擎更新，或分词器文件没有下载。",
        ),
        (
            "Update the engine, or fetch the tokenizer files again.",
            "请更新引擎，或重新获取分词器文件。",
        ),
    ),
}
