"""A: the engine could not be started."""

from __future__ import annotations

from kimi_desktop.base.messages.causes.text import cause

TEXTS = {
    **cause(
        "engine_binary_unusable",
        ("The engine program cannot be run.", "引擎程序无法运行。"),
        (
            "It is damaged, made for another kind of processor, or not marked as executable.",
            "程序已损坏、是为另一种处理器编译的，或没有可执行权限。",
        ),
        (
            "Install the engine again, in the build for this computer.",
            "请重新安装适合本机的引擎版本。",
        ),
    ),
    **cause(
        "shared_library_missing",
        (
            "A library that the engine needs is missing or too old.",
            "缺少引擎所需的动态库，或其版本过旧。",
        ),
        (
            "The build is for a newer system or another CUDA, or some of its files are missing.",
            "该版本面向更新的系统或其他 CUDA 版本，或者文件没有复制完整。",
        ),
        (
            "Install the named library, or take a build for this system.",
            "请安装提示中的库，或改用适合本系统的版本。",
        ),
    ),
    **cause(
        "cpu_instruction_unsupported",
        (
            "The engine uses instructions that this processor does not have.",
            "引擎使用了本机处理器不支持的指令。",
        ),
        (
            "The build was made for a newer processor (AVX2, AVX-512 or AMX).",
            "该版本是为更新的处理器编译的（AVX2、AVX-512 或 AMX）。",
        ),
        (
            "Take a build that chooses the instructions when it runs.",
            "请改用能在运行时选择指令集的版本。",
        ),
    ),
    **cause(
        "toolchain_missing",
        (
            "The engine wants to compile something and finds no compiler.",
            "引擎需要在运行时编译，但没有找到编译器。",
        ),
        (
            "A feature builds its GPU code at the first start and needs gcc, nvcc or ninja.",
            "某项功能会在首次启动时编译 GPU 代码，需要 gcc、nvcc 或 ninja。",
        ),
        (
            "Install the compiler or the CUDA toolkit, or switch that feature off.",
            "请安装编译器或 CUDA 工具包，或关闭该功能。",
        ),
    ),
    **cause(
        "bad_argument",
        (
            "The engine does not understand one of the settings.",
            "引擎无法识别其中一项设置。",
        ),
        (
            "The flag is misspelt, was renamed or removed, belongs to another engine, or has a "
            "value that is not allowed.",
            "该参数拼写有误、已改名或移除、属于其他引擎，或取值不被允许。",
        ),
        (
            "Correct or remove the flag that the line names.",
            "请更正或删除日志中提到的参数。",
        ),
    ),
    **cause(
        "path_wrong",
        (
            "A file or folder that the settings name is not there.",
            "设置中指定的文件或文件夹不存在。",
        ),
        (
            "It was moved, renamed or misspelt, or the engine cannot see the folder.",
            "文件被移动、改名或写错，或者引擎所在的环境看不到该文件夹。",
        ),
        ("Choose the file again.", "请重新选择文件。"),
    ),
    **cause(
        "permission_denied",
        (
            "The engine may not read the file.",
            "引擎没有读取该文件的权限。",
        ),
        (
            "The file or a folder above it belongs to another user.",
            "该文件或其上级文件夹属于其他用户。",
        ),
        (
            "Allow reading for everybody, or run as the owner of the file.",
            "请开放读取权限，或以文件所有者的身份运行。",
        ),
    ),
    **cause(
        "port_in_use",
        ("Another program holds the port.", "端口已被其他程序占用。"),
        (
            "An earlier engine may still run, or another service uses the same number.",
            "可能有之前的引擎仍在运行，或其他服务使用了同一端口。",
        ),
        ("End that program or take another port.", "请结束该程序，或更换端口。"),
    ),
    **cause(
        "address_not_bindable",
        (
            "The engine cannot listen on this address or port.",
            "引擎无法在该地址或端口上监听。",
        ),
        (
            "The address is not of this computer, or the port is out of range or reserved.",
            "该地址不属于本机，或端口超出范围或被系统保留。",
        ),
        (
            "Use 127.0.0.1 and a port from 1024 to 65535.",
            "请使用 127.0.0.1 和 1024 到 65535 之间的端口。",
        ),
    ),
    **cause(
        "ulimit_hit",
        (
            "A limit of the system on files, threads or locked memory was reached.",
            "达到了系统对文件数、线程数或锁定内存的限制。",
        ),
        (
            "The shell or the service was started with small limits.",
            "终端或服务启动时的限制过小。",
        ),
        (
            "Raise the limit (ulimit -n 65536) and start again.",
            "请提高限制（ulimit -n 65536）后重新启动。",
        ),
    ),
    **cause(
        "download_refused_or_offline",
        (
            "The model is not on this computer and cannot be fetched.",
            "模型不在本机，也无法下载。",
        ),
        (
            "There is no connection, or the model asks for a login or an accepted licence.",
            "网络不可用，或该模型需要登录或先接受许可协议。",
        ),
        (
            "Download the model first, then start it from its folder.",
            "请先下载模型，再从其所在文件夹启动。",
        ),
    ),
    **cause(
        "remote_code_not_trusted",
        (
            "The model brings program code of its own, which needs your consent.",
            "该模型自带程序代码，需要您的同意。",
        ),
        (
            "Its tokenizer or its layers are Python files that would run on this computer.",
            "其分词器或模型层是会在本机运行的 Python 文件。",
        ),
        (
            "Read the files and allow them, or take a conversion that needs no code.",
            "请阅读这些文件后再允许，或选择无需代码的转换版本。",
        ),
    ),
}
