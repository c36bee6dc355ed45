"""What model hubs say no to, and what to do about it."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

TEXTS: dict[str, Text] = {
    "hubs.bad_name": Text(
        "“{name}” is not the name of a model repository.",
        "“{name}”不是模型仓库的名称。",
    ),
    "hubs.bad_name.next": Text(
        "Names look like unsloth/Kimi-K2.6-GGUF; the address of a model's page works too.",
        "名称形如 unsloth/Kimi-K2.6-GGUF；也可以直接粘贴模型页面的网址。",
    ),
    "hubs.unknown_source": Text(
        "“{source}” is no source that is known here.",
        "“{source}”不是已知的来源。",
    ),
    "hubs.unknown_source.next": Text(
        "Known are: {known}. HF_ENDPOINT, or the settings, add another hub.",
        "已知来源：{known}。可用环境变量 HF_ENDPOINT 或在设置中添加其他站点。",
    ),
    "hubs.bad_address": Text(
        "“{address}” is not the address of a hub.",
        "“{address}”不是有效的站点地址。",
    ),
    "hubs.bad_address.next": Text(
        "It looks like https://hf-mirror.com; plain http is for your own network only.",
        "地址形如 https://hf-mirror.com；http 只可用于自己的内部网络。",
    ),
    "hubs.no_repo": Text(
        "{host} shows no repository called {repo}.",
        "{host} 上找不到名为 {repo} 的仓库。",
    ),
    "hubs.no_repo.next": Text(
        "Check the spelling. A private repository shows itself only with a token of its owner.",
        "请检查拼写。私有仓库只有使用其所有者的令牌才能看到。",
    ),
    "hubs.no_revision": Text(
        "{repo} on {host} has no revision called “{revision}”.",
        "{host} 上的 {repo} 没有名为“{revision}”的版本。",
    ),
    "hubs.no_revision.next": Text(
        "Leave the revision out to get the newest one.",
        "不指定版本即可获取最新版。",
    ),
    "hubs.gated": Text(
        "The publisher of {repo} wants its licence accepted, and this account has not done so.",
        "{repo} 的发布者要求先接受许可协议，而当前账号尚未接受。",
    ),
    "hubs.gated.next": Text(
        "Open {page}, accept there, then try again. What is there already is kept.",
        "请打开 {page} 接受协议后重试；已下载的部分会保留。",
    ),
    "hubs.gated_no_token": Text(
        "The publisher of {repo} wants its licence accepted by an account first.",
        "{repo} 的发布者要求先用账号接受许可协议。",
    ),
    "hubs.gated_no_token.next": Text(
        "Accept it at {page}, then add a read-only token of that account in the settings.",
        "请在 {page} 接受协议，然后在设置中添加该账号的只读令牌。",
    ),
    "hubs.bad_token": Text(
        "{host} does not know the token that is kept here: it is wrong, or was withdrawn.",
        "{host} 不认识本机保存的令牌：令牌有误或已被撤销。",
    ),
    "hubs.bad_token.next": Text(
        "Make a new read-only token there and put it into the settings, or remove the old one.",
        "请在该网站创建新的只读令牌并填入设置，或删除旧令牌。",
    ),
    "hubs.token_malformed": Text(
        "This cannot be an access token.",
        "这不是有效的访问令牌。",
    ),
    "hubs.token_malformed.next": Text(
        "Copy it again from the hub's page; Hugging Face's begin with “hf_”. The hub's address "
        "must begin with https.",
        "请从网站页面重新复制；Hugging Face 的令牌以“hf_”开头，且网站地址须以 https 开头。",
    ),
    "hubs.token_not_kept": Text(
        "The token cannot be kept: the system's keyring or the private file says {detail}.",
        "无法保存令牌：系统钥匙串或私有文件返回 {detail}。",
    ),
    "hubs.token_not_kept.next": Text(
        "It works until the app is closed. Unlock the keyring, or agree to a private file.",
        "在应用关闭前令牌仍然有效。请解锁钥匙串，或同意将其存入私有文件。",
    ),
    "hubs.nothing_chosen": Text(
        "{repo} holds {count} models; which of them is meant was not said.",
        "{repo} 中有 {count} 个模型，尚未指定要下载哪一个。",
    ),
    "hubs.nothing_chosen.next": Text(
        "Name one: {names}.",
        "请指定其中一个：{names}。",
    ),
    "hubs.no_quantization": Text(
        "{repo} has no quantization called “{wanted}”.",
        "{repo} 中没有名为“{wanted}”的量化版本。",
    ),
    "hubs.no_quantization.next": Text(
        "Nearest: {near}.",
        "最接近的：{near}。",
    ),
    "hubs.no_match": Text(
        "No file of {repo} fits “{pattern}”.",
        "{repo} 中没有与“{pattern}”匹配的文件。",
    ),
    "hubs.no_match.next": Text(
        "Nearest: {near}. Patterns cover whole paths, folders included.",
        "最接近的：{near}。匹配模式针对包含文件夹的完整路径。",
    ),
    "hubs.no_weights": Text(
        "{repo} holds no weights that are used here: neither GGUF nor safetensors.",
        "{repo} 中没有可在此使用的权重：既没有 GGUF，也没有 safetensors。",
    ),
    "hubs.no_weights.next": Text(
        "Pickle files are left out, since opening them can run code. Look for a GGUF repository "
        "of the same model.",
        "pickle 文件打开时可能执行代码，因此不会下载。请寻找同一模型的 GGUF 仓库。",
    ),
    "hubs.set_incomplete": Text(
        "{repo} lacks {missing} of the {total} parts of {path} (numbers {which}).",
        "{repo} 中的 {path} 共 {total} 个分片，缺少 {missing} 个（编号 {which}）。",
    ),
    "hubs.set_incomplete.next": Text(
        "The upload may still be going on: try again later, or choose another quantization.",
        "可能仍在上传中：请稍后再试，或选择其他量化版本。",
    ),
    "hubs.hostile_name": Text(
        "{repo} holds a file whose name is not safe to write: {name}.",
        "{repo} 中有一个文件名不宜写入磁盘：{name}。",
    ),
    "hubs.hostile_name.next": Text(
        "Nothing was written. Do not trust this repository; look for its original publisher.",
        "没有写入任何内容。请勿信任该仓库，并寻找原始发布者。",
    ),
    "hubs.busy": Text(
        "{host} takes no more requests from this address; it may be asked again in {wait}.",
        "{host} 暂不接受此地址的请求，{wait}后可再次查询。",
    ),
    "hubs.busy.next": Text(
        "Wait, or use another source; with a token the limit is higher. Downloads go on.",
        "请稍候或更换来源；使用令牌时限额更高。正在进行的下载不受影响。",
    ),
    "hubs.trouble": Text(
        "{host} has trouble of its own: {detail}.",
        "{host} 自身出现问题：{detail}。",
    ),
    "hubs.trouble.next": Text(
        "Try again later, or use another source. What is there already is kept.",
        "请稍后再试，或更换来源；已下载的部分会保留。",
    ),
}
