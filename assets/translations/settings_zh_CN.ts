<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AboutCard</name>
    <message>
        <source>Copy versions</source>
        <translation>复制版本信息</translation>
    </message>
    <message>
        <source>Hide licences</source>
        <translation>收起许可证</translation>
    </message>
    <message>
        <source>Show licences</source>
        <translation>查看许可证</translation>
    </message>
    <message>
        <source>Kimi Desktop is free software under the Apache License 2.0. It stands on:</source>
        <translation>Kimi Desktop 是以 Apache License 2.0 发布的自由软件，基于以下项目：</translation>
    </message>
    <message>
        <source>Versions copied.</source>
        <translation>已复制版本信息。</translation>
    </message>
</context>
<context>
    <name>BuildRow</name>
    <message>
        <source>In use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>使用</translation>
    </message>
    <message>
        <source>Use {build}</source>
        <translation>使用 {build}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Remove {build}</source>
        <translation>删除 {build}</translation>
    </message>
</context>
<context>
    <name>BuildsCard</name>
    <message>
        <source>Used when the engine is started the next time.</source>
        <translation>下次启动引擎时生效。</translation>
    </message>
</context>
<context>
    <name>DataCard</name>
    <message>
        <source>Chats and models</source>
        <translation>对话与模型</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Logs</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Open the folder: {name}</source>
        <translation>打开文件夹：{name}</translation>
    </message>
</context>
<context>
    <name>EngineCard</name>
    <message>
        <source>Try a loaded model</source>
        <translation>试问已加载的模型</translation>
    </message>
    <message>
        <source>One short question after loading; an answer that is none is told with its likely causes. Gives way to your first message.</source>
        <translation>加载后提一个简短的问题；如果回答不成样子，会说明可能的原因。你发送第一条消息时即让位。</translation>
    </message>
    <message>
        <source>llama-server</source>
        <translation>llama-server</translation>
    </message>
    <message>
        <source>A program of your own. Empty: the llama.cpp that comes with the app.</source>
        <translation>指定你自己的程序。留空则使用应用自带的 llama.cpp。</translation>
    </message>
    <message>
        <source>Embedded llama.cpp</source>
        <translation>自带的 llama.cpp</translation>
    </message>
    <message>
        <source>llama-cpp-python</source>
        <translation>llama-cpp-python</translation>
    </message>
    <message>
        <source>The Python of an environment that has it; serves GGUF files instead of both.</source>
        <translation>装有 llama-cpp-python 的环境中的 Python；用它代替上述引擎运行 GGUF 文件。</translation>
    </message>
    <message>
        <source>Not used</source>
        <translation>未使用</translation>
    </message>
    <message>
        <source>Python with llama-cpp-python</source>
        <translation>装有 llama-cpp-python 的 Python</translation>
    </message>
    <message>
        <source>Do not use it</source>
        <translation>不使用</translation>
    </message>
    <message>
        <source>vLLM</source>
        <translation>vLLM</translation>
    </message>
    <message>
        <source>The Python of an environment that has vLLM, for folders of safetensors.</source>
        <translation>装有 vLLM 的环境中的 Python，用于 safetensors 文件夹。</translation>
    </message>
    <message>
        <source>vllm on PATH</source>
        <translation>PATH 中的 vllm</translation>
    </message>
    <message>
        <source>Python with vLLM</source>
        <translation>装有 vLLM 的 Python</translation>
    </message>
    <message>
        <source>Use the one on PATH</source>
        <translation>使用 PATH 中的 vllm</translation>
    </message>
    <message>
        <source>SGLang</source>
        <translation>SGLang</translation>
    </message>
    <message>
        <source>The Python of an environment that has SGLang, for the same folders.</source>
        <translation>装有 SGLang 的环境中的 Python，用于同样的文件夹。</translation>
    </message>
    <message>
        <source>sglang on PATH</source>
        <translation>PATH 中的 sglang</translation>
    </message>
    <message>
        <source>Python with SGLang</source>
        <translation>装有 SGLang 的 Python</translation>
    </message>
    <message>
        <source>Folders of safetensors</source>
        <translation>safetensors 文件夹</translation>
    </message>
    <message>
        <source>Which engine serves them.</source>
        <translation>由哪个引擎提供服务。</translation>
    </message>
    <message>
        <source>Use the embedded engine</source>
        <translation>使用自带引擎</translation>
    </message>
    <message>
        <source>llama-server program</source>
        <translation>选择 llama-server 程序</translation>
    </message>
</context>
<context>
    <name>FileLine</name>
    <message>
        <source>Use the file</source>
        <translation>使用此文件</translation>
    </message>
    <message>
        <source>Into the library: proven by its hash and linked, nothing is copied</source>
        <translation>加入模型库：经哈希校验后建立链接，不复制</translation>
    </message>
    <message>
        <source>Use the file of {name}</source>
        <translation>使用 {name} 的文件</translation>
    </message>
</context>
<context>
    <name>FoldersCard</name>
    <message>
        <source>Add a folder…</source>
        <translation>添加文件夹…</translation>
    </message>
    <message>
        <source>More folders</source>
        <translation>更多文件夹</translation>
    </message>
    <message>
        <source>Models are used where they are.</source>
        <translation>模型在原处使用。</translation>
    </message>
    <message>
        <source>Remove the folder from the list</source>
        <translation>从列表中移除该文件夹</translation>
    </message>
    <message>
        <source>Default: new models go here</source>
        <translation>默认：新模型存放在这里</translation>
    </message>
    <message>
        <source>Added</source>
        <translation>已添加</translation>
    </message>
    <message>
        <source>Folder with models</source>
        <translation>存放模型的文件夹</translation>
    </message>
</context>
<context>
    <name>HubRow</name>
    <message>
        <source>Not checked</source>
        <translation>未检查</translation>
    </message>
    <message>
        <source>Token kept</source>
        <translation>已保存令牌</translation>
    </message>
    <message>
        <source>Change…</source>
        <translation>更换…</translation>
    </message>
    <message>
        <source>Add a token…</source>
        <translation>添加令牌…</translation>
    </message>
    <message>
        <source>Give a token for {name}</source>
        <translation>为 {name} 填写令牌</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在检查</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Check the token of {name}</source>
        <translation>检查 {name} 的令牌</translation>
    </message>
    <message>
        <source>Forget</source>
        <translation>清除</translation>
    </message>
    <message>
        <source>Forget the token of {name}</source>
        <translation>清除 {name} 的令牌</translation>
    </message>
    <message>
        <source>No token: public models only.</source>
        <translation>没有令牌：只能访问公开模型。</translation>
    </message>
    <message>
        <source>Kept in the system’s keyring.</source>
        <translation>保存在系统钥匙串中。</translation>
    </message>
    <message>
        <source>Kept in a file that only you can read.</source>
        <translation>保存在只有你能读取的文件中。</translation>
    </message>
    <message>
        <source>Known until the app is closed; kept nowhere.</source>
        <translation>仅在本次运行中有效，未保存。</translation>
    </message>
    <message>
        <source>From an environment variable.</source>
        <translation>来自环境变量。</translation>
    </message>
    <message>
        <source>From “hf auth login”.</source>
        <translation>来自“hf auth login”。</translation>
    </message>
</context>
<context>
    <name>HubsCard</name>
    <message>
        <source>Asked first: a mirror, or a hub of your own. Empty: the usual order.</source>
        <translation>优先使用：镜像站或自建站点。留空则按默认顺序。</translation>
    </message>
    <message>
        <source>The environment variable HF_ENDPOINT says so; it goes before this.</source>
        <translation>由环境变量 HF_ENDPOINT 指定，优先于此处设置。</translation>
    </message>
    <message>
        <source>Another hub (HF_ENDPOINT)</source>
        <translation>其他站点（HF_ENDPOINT）</translation>
    </message>
    <message>
        <source>Look for newer versions of models</source>
        <translation>检查模型的新版本</translation>
    </message>
    <message>
        <source>Once a day, when Models is opened. Sends the names of their repositories.</source>
        <translation>打开“模型”页时每天检查一次，会发送其仓库名称。</translation>
    </message>
</context>
<context>
    <name>InstalledRow</name>
    <message>
        <source>In use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>使用</translation>
    </message>
    <message>
        <source>Use {build}</source>
        <translation>使用 {build}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Remove {build}</source>
        <translation>删除 {build}</translation>
    </message>
</context>
<context>
    <name>InstallsSection</name>
    <message>
        <source>Install {name}</source>
        <translation>安装 {name}</translation>
    </message>
    <message>
        <source>Kind of build</source>
        <translation>版本类型</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Install</source>
        <translation>安装</translation>
    </message>
    <message>
        <source>{name} is here.</source>
        <translation>{name} 已安装。</translation>
    </message>
    <message>
        <source>{name} in an environment of its own · {fetched} to fetch, about {kept} on disk · licence {licence}</source>
        <translation>{name}，安装到独立环境 · 下载 {fetched}，占用磁盘约 {kept} · 许可证 {licence}</translation>
    </message>
    <message>
        <source>compiled here: 10 to 20 minutes, and a C++ compiler</source>
        <translation>在本机编译：需要 C++ 编译器，耗时 10 到 20 分钟</translation>
    </message>
    <message>
        <source>{build} is used when the engine is started the next time.</source>
        <translation>下次启动引擎时使用 {build}。</translation>
    </message>
    <message>
        <source>Used when the engine is started the next time.</source>
        <translation>下次启动引擎时使用。</translation>
    </message>
</context>
<context>
    <name>ProgramRow</name>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Used when the engine is started the next time.</source>
        <translation>下次启动引擎时生效。</translation>
    </message>
</context>
<context>
    <name>ServerForm</name>
    <message>
        <source>Name of the server</source>
        <translation>服务器名称</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Address of its API</source>
        <translation>API 地址</translation>
    </message>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>API key: as it is</source>
        <translation>API 密钥：保持不变</translation>
    </message>
    <message>
        <source>API key, if it wants one</source>
        <translation>API 密钥（如需要）</translation>
    </message>
    <message>
        <source>Show the key</source>
        <translation>显示密钥</translation>
    </message>
    <message>
        <source>Forget the key</source>
        <translation>清除密钥</translation>
    </message>
    <message>
        <source>Keep it in a file that only I can read</source>
        <translation>保存在仅我可读的文件中</translation>
    </message>
    <message>
        <source>The key goes to this address and nowhere else.</source>
        <translation>密钥只会发送到此地址。</translation>
    </message>
    <message>
        <source>This system has no keyring: without the file it is known until the app is closed.</source>
        <translation>本系统没有钥匙串：不存入文件时，密钥在应用关闭后失效。</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在检查</translation>
    </message>
    <message>
        <source>Check and keep</source>
        <translation>检查并保存</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>ServerRow</name>
    <message>
        <source>found on this computer</source>
        <translation>在本机自动发现</translation>
    </message>
    <message>
        <source>asking …</source>
        <translation>正在查询…</translation>
    </message>
    <message>
        <source>Chat with it</source>
        <translation>开始对话</translation>
    </message>
    <message>
        <source>Chat with a model of {name}</source>
        <translation>与 {name} 的模型对话</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Check {name}</source>
        <translation>检查 {name}</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>编辑…</translation>
    </message>
    <message>
        <source>Edit {name}</source>
        <translation>编辑 {name}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>移除 {name}</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在检查</translation>
    </message>
    <message>
        <source>No answer</source>
        <translation>无响应</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>另有 {count} 个</translation>
    </message>
</context>
<context>
    <name>ServersCard</name>
    <message>
        <source>Add a server</source>
        <translation>添加服务器</translation>
    </message>
    <message>
        <source>vLLM, SGLang, llama.cpp, Ollama, or any other with an OpenAI API: on another machine, or a hoster&apos;s. Ollama on this machine is found by itself.</source>
        <translation>vLLM、SGLang、llama.cpp、Ollama 或任何提供 OpenAI 接口的服务器，可在其他机器或云端。本机的 Ollama 会自动发现。</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>添加…</translation>
    </message>
</context>
<context>
    <name>SettingsPage</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Look</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Models folders</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>llama.cpp builds</source>
        <translation>llama.cpp 版本</translation>
    </message>
    <message>
        <source>Several machines</source>
        <translation>多台机器</translation>
    </message>
    <message>
        <source>Model hubs</source>
        <translation>模型平台</translation>
    </message>
    <message>
        <source>Other servers</source>
        <translation>其他服务器</translation>
    </message>
    <message>
        <source>Where things are</source>
        <translation>存放位置</translation>
    </message>
    <message>
        <source>About</source>
        <translation>关于</translation>
    </message>
    <message>
        <source>System</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Changes at once.</source>
        <translation>立即生效。</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>System follows the desktop, also while the app runs.</source>
        <translation>“跟随系统”会随桌面主题实时切换。</translation>
    </message>
    <message>
        <source>Enter sends</source>
        <translation>按 Enter 发送</translation>
    </message>
    <message>
        <source>Shift+Enter makes a new line. Off: Enter does, and Ctrl+Enter sends.</source>
        <translation>Shift+Enter 换行。关闭后 Enter 换行，Ctrl+Enter 发送。</translation>
    </message>
    <message>
        <source>Set up again</source>
        <translation>重新运行设置向导</translation>
    </message>
    <message>
        <source>Machine check, first model, start. Nothing is deleted.</source>
        <translation>检测机器、选择第一个模型、启动。不会删除任何内容。</translation>
    </message>
    <message>
        <source>Run the set-up</source>
        <translation>运行设置向导</translation>
    </message>
</context>
<context>
    <name>TokenForm</name>
    <message>
        <source>Access token of {name}</source>
        <translation>{name} 的访问令牌</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在检查</translation>
    </message>
    <message>
        <source>Check and keep</source>
        <translation>检查并保存</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Show the token</source>
        <translation>显示令牌</translation>
    </message>
    <message>
        <source>Keep it in a file that only I can read</source>
        <translation>保存到只有我能读取的文件中</translation>
    </message>
    <message>
        <source>A read-only token is enough. It goes to {host} and nowhere else.</source>
        <translation>只读令牌即可。令牌只会发送给 {host}。</translation>
    </message>
    <message>
        <source>This system has no keyring: without the file it is known until the app is closed.</source>
        <translation>本系统没有钥匙串：不存入文件时，令牌仅在应用关闭前有效。</translation>
    </message>
    <message>
        <source>Make one</source>
        <translation>创建令牌</translation>
    </message>
    <message>
        <source>Make a token at {page}</source>
        <translation>在 {page} 创建令牌</translation>
    </message>
</context>
<context>
    <name>WorkerForm</name>
    <message>
        <source>Add another machine</source>
        <translation>添加其他机器</translation>
    </message>
    <message>
        <source>Run “kimi-desktop worker --address …” there, with that machine’s own address. Plans then count its devices, with the network in every speed.</source>
        <translation>请在那台机器上运行“kimi-desktop worker --address …”，填写它自己的地址。之后方案会计入它的设备，并在各项速度中计入网络。</translation>
    </message>
    <message>
        <source>llama.cpp’s RPC has no keys and no encryption: only over a wire or VPN that you trust.</source>
        <translation>llama.cpp 的 RPC 没有密钥，也没有加密：只能用于可信的线路或 VPN。</translation>
    </message>
    <message>
        <source>Address of the worker</source>
        <translation>工作机地址</translation>
    </message>
    <message>
        <source>What its device is</source>
        <translation>设备型号</translation>
    </message>
    <message>
        <source>Its GPU, e.g. RTX 4090 (for the speed)</source>
        <translation>其 GPU，如 RTX 4090（用于预估速度）</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在检查</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>添加</translation>
    </message>
</context>
<context>
    <name>WorkerRow</name>
    <message>
        <source>RPC protocol {version}</source>
        <translation>RPC 协议 {version}</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>正在检查</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Check the worker {address}</source>
        <translation>检查工作机 {address}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove the worker {address}</source>
        <translation>移除工作机 {address}</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就绪</translation>
    </message>
    <message>
        <source>Not asked yet</source>
        <translation>尚未询问</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>Not reachable</source>
        <translation>无法连接</translation>
    </message>
    <message>
        <source>Cannot be used</source>
        <translation>无法使用</translation>
    </message>
</context>
</TS>
