<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>CodeConsent</name>
    <message>
        <source>I trust these files: they may run on this computer</source>
        <translation>我信任这些文件，允许它们在本机运行</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>还有 {count} 个</translation>
    </message>
    <message>
        <source>The model&apos;s own Python files, with their SHA-256:</source>
        <translation>模型自带的 Python 文件及其 SHA-256：</translation>
    </message>
    <message>
        <source>In a sandbox: without network, files read-only</source>
        <translation>在沙盒中运行：无网络，文件只读</translation>
    </message>
</context>
<context>
    <name>CommandPalette</name>
    <message>
        <source>Chats and commands</source>
        <translation>对话与命令</translation>
    </message>
    <message>
        <source>Search chats and commands</source>
        <translation>搜索对话与命令</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Nothing found.</source>
        <translation>没有找到。</translation>
    </message>
    <message>
        <source>Stop the engine</source>
        <translation>停止引擎</translation>
    </message>
    <message>
        <source>Start the engine</source>
        <translation>启动引擎</translation>
    </message>
    <message>
        <source>Detach from the server</source>
        <translation>断开与服务器的连接</translation>
    </message>
    <message>
        <source>Go to {page}</source>
        <translation>前往{page}</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Show or hide the names in the rail</source>
        <translation>显示或隐藏导航栏文字</translation>
    </message>
    <message>
        <source>Show the engine&apos;s log</source>
        <translation>查看引擎日志</translation>
    </message>
    <message>
        <source>Set up again</source>
        <translation>重新运行设置向导</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Theme: as the system</source>
        <translation>主题：跟随系统</translation>
    </message>
    <message>
        <source>Theme: light</source>
        <translation>主题：浅色</translation>
    </message>
    <message>
        <source>Theme: dark</source>
        <translation>主题：深色</translation>
    </message>
</context>
<context>
    <name>DeviceView</name>
    <message>
        <source>at least {size}</source>
        <translation>至少 {size}</translation>
    </message>
    <message>
        <source> of {size}</source>
        <translation> / {size}</translation>
    </message>
    <message>
        <source> of an unknown size</source>
        <translation> / 总量未知</translation>
    </message>
</context>
<context>
    <name>DownloadSheet</name>
    <message>
        <source>{name} is in the queue.</source>
        <translation>{name} 已加入队列。</translation>
    </message>
    <message>
        <source>Show downloads</source>
        <translation>查看下载</translation>
    </message>
    <message>
        <source>Download {name}</source>
        <translation>下载 {name}</translation>
    </message>
    <message>
        <source>Asking the hubs, measuring their speed, looking at the drive</source>
        <translation>正在询问各平台、测速并查看磁盘</translation>
    </message>
    <message>
        <source>With the projector for images ({size})</source>
        <translation>包含图像投影器（{size}）</translation>
    </message>
    <message>
        <source>Add to queue</source>
        <translation>加入队列</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>revision {commit}</source>
        <translation>版本 {commit}</translation>
    </message>
    <message>
        <source>no licence named</source>
        <translation>未注明许可协议</translation>
    </message>
    <message>
        <source>licence: {licence}</source>
        <translation>许可协议：{licence}</translation>
    </message>
    <message>
        <source>one file</source>
        <translation>1 个文件</translation>
    </message>
    <message>
        <source>{count} files</source>
        <translation>{count} 个文件</translation>
    </message>
    <message>
        <source>{size} are here already</source>
        <translation>已有 {size}</translation>
    </message>
    <message>
        <source>about {time} at {speed}</source>
        <translation>约 {time}（{speed}）</translation>
    </message>
    <message>
        <source>To</source>
        <translation>位置</translation>
    </message>
    <message>
        <source>From</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>MB/s, just measured</source>
        <translation>MB/s，刚刚测得</translation>
    </message>
    <message>
        <source>Folder for the model</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Before the others</source>
        <translation>优先下载</translation>
    </message>
</context>
<context>
    <name>DownloadWatch</name>
    <message>
        <source>downloads: {count}</source>
        <translation>下载：{count}</translation>
    </message>
    <message>
        <source>downloads that failed: {count}</source>
        <translation>失败的下载：{count}</translation>
    </message>
    <message>
        <source>{name} is ready: every byte proven.</source>
        <translation>{name} 已就绪，每个字节均已校验。</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>查看</translation>
    </message>
    <message>
        <source>{name} could not be fetched. {reason}</source>
        <translation>{name} 下载失败。{reason}</translation>
    </message>
    <message>
        <source>Show downloads</source>
        <translation>查看下载</translation>
    </message>
</context>
<context>
    <name>Downloads</name>
    <message>
        <source>Waiting</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>left</source>
        <translation>后完成</translation>
    </message>
    <message>
        <source>Shards {done}/{total}</source>
        <translation>分片 {done}/{total}</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>{amount} checked</source>
        <translation>已校验 {amount}</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>未测速</translation>
    </message>
    <message>
        <source>MB/s, measured at {time}</source>
        <translation>MB/s，测于 {time}</translation>
    </message>
    <message>
        <source>goes on at the same byte</source>
        <translation>从断点处继续</translation>
    </message>
    <message>
        <source>one connection</source>
        <translation>1 个连接</translation>
    </message>
    <message>
        <source>{count} connections</source>
        <translation>{count} 个连接</translation>
    </message>
    <message>
        <source>pieces replaced: {count}</source>
        <translation>已替换分块：{count}</translation>
    </message>
    <message>
        <source>paused by you</source>
        <translation>由你暂停</translation>
    </message>
    <message>
        <source>paused by you at {time}</source>
        <translation>由你于 {time} 暂停</translation>
    </message>
    <message>
        <source>paused by itself at {time}</source>
        <translation>已于 {time} 自动暂停</translation>
    </message>
    <message>
        <source>next try in {time}</source>
        <translation>{time}后重试</translation>
    </message>
</context>
<context>
    <name>EngineControl</name>
    <message>
        <source>Restart the engine?</source>
        <translation>重启引擎？</translation>
    </message>
    <message>
        <source>The model that runs now is ended first; chats stay as they are.</source>
        <translation>将先结束当前运行的模型；对话保持不变。</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>重启</translation>
    </message>
    <message>
        <source>An answer is being written. Load the model all the same?</source>
        <translation>正在生成回答。仍要加载模型吗？</translation>
    </message>
    <message>
        <source>The answer stops; the text so far is kept.</source>
        <translation>回答会停止，已生成的内容会保留。</translation>
    </message>
    <message>
        <source>Stop and load</source>
        <translation>停止并加载</translation>
    </message>
</context>
<context>
    <name>EngineFailurePanel</name>
    <message>
        <source>Evidence, line {number} of the engine&apos;s log</source>
        <translation>依据：引擎日志第 {number} 行</translation>
    </message>
    <message>
        <source>Evidence: the end of the engine&apos;s log</source>
        <translation>依据：引擎日志末尾</translation>
    </message>
    <message>
        <source>End it…</source>
        <translation>结束…</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Verify</source>
        <translation>校验</translation>
    </message>
    <message>
        <source>Choose</source>
        <translation>选择</translation>
    </message>
    <message>
        <source>What is not saved in it is lost. Afterwards the engine starts again.</source>
        <translation>其中未保存的内容将丢失。随后引擎会重新启动。</translation>
    </message>
    <message>
        <source>End it</source>
        <translation>结束</translation>
    </message>
    <message>
        <source>Copied.</source>
        <translation>已复制。</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>{device}: {used} of {total} as planned</source>
        <translation>{device}：按计划 {used} / {total}</translation>
    </message>
    <message>
        <source>Attach once more</source>
        <translation>重新连接</translation>
    </message>
    <message>
        <source>Messages that wait are sent when it answers.</source>
        <translation>服务器响应后，排队的消息会自动发送。</translation>
    </message>
    <message>
        <source>Attach</source>
        <translation>连接</translation>
    </message>
    <message>
        <source>Look at its address and key</source>
        <translation>检查地址和密钥</translation>
    </message>
    <message>
        <source>Settings, Other servers: check it and see what it reports.</source>
        <translation>在“设置 → 其他服务器”中检查，并查看它返回的信息。</translation>
    </message>
    <message>
        <source>One of the library, or of another server.</source>
        <translation>可选模型库中的模型，或其他服务器上的模型。</translation>
    </message>
    <message>
        <source>Start it once more</source>
        <translation>再启动一次</translation>
    </message>
    <message>
        <source>With the same settings. Messages that wait are sent when it is ready.</source>
        <translation>使用相同设置。就绪后会发送排队中的消息。</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>重新启动</translation>
    </message>
    <message>
        <source>Take another model</source>
        <translation>换一个模型</translation>
    </message>
    <message>
        <source>The library shows what can be started.</source>
        <translation>模型库会列出可以启动的模型。</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Load less</source>
        <translation>减少加载量</translation>
    </message>
    <message>
        <source>A shorter context or fewer layers on the GPU need less memory.</source>
        <translation>缩短上下文或减少 GPU 层数可以节省内存与显存。</translation>
    </message>
    <message>
        <source>Change settings</source>
        <translation>修改加载设置</translation>
    </message>
    <message>
        <source>Use the engine that comes with the app</source>
        <translation>使用应用自带的引擎</translation>
    </message>
    <message>
        <source>Or name another llama-server in Settings.</source>
        <translation>也可以在设置中指定其他 llama-server。</translation>
    </message>
    <message>
        <source>Open Settings</source>
        <translation>打开设置</translation>
    </message>
    <message>
        <source>Diagnostics copied. Keys, names and home folders are removed.</source>
        <translation>已复制诊断信息，其中的密钥、用户名和主目录路径已移除。</translation>
    </message>
</context>
<context>
    <name>EngineState</name>
    <message>
        <source>Warming up</source>
        <translation>正在预热</translation>
    </message>
    <message>
        <source>Loading {percent}%</source>
        <translation>加载中 {percent}%</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>正在启动</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>加载中</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>正在停止</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Attaching</source>
        <translation>正在连接</translation>
    </message>
    <message>
        <source>Attached</source>
        <translation>已连接</translation>
    </message>
    <message>
        <source>Detached</source>
        <translation>已断开</translation>
    </message>
</context>
<context>
    <name>EngineStateButton</name>
    <message>
        <source>Engine: {state}</source>
        <translation>引擎：{state}</translation>
    </message>
    <message>
        <source>Show what happened</source>
        <translation>查看原因</translation>
    </message>
</context>
<context>
    <name>FailurePanel</name>
    <message>
        <source>Evidence</source>
        <translation>依据</translation>
    </message>
    <message>
        <source>Show log</source>
        <translation>查看日志</translation>
    </message>
    <message>
        <source>Copy diagnostics</source>
        <translation>复制诊断信息</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Step down by itself next time</source>
        <translation>下次自动逐级降低</translation>
    </message>
</context>
<context>
    <name>GetBuild</name>
    <message>
        <source>Get an official build</source>
        <translation>获取官方版本</translation>
    </message>
    <message>
        <source>llama.cpp for your GPUs. The place of its releases is asked when you press.</source>
        <translation>适合您 GPU 的 llama.cpp。点击后才会查询其发布站点。</translation>
    </message>
    <message>
        <source>Looking</source>
        <translation>正在查询</translation>
    </message>
    <message>
        <source>See what fits</source>
        <translation>查看适用版本</translation>
    </message>
    <message>
        <source>Kind of build</source>
        <translation>版本类型</translation>
    </message>
    <message>
        <source>Download and use</source>
        <translation>下载并使用</translation>
    </message>
    <message>
        <source>{version} · {size} · licence {licence} · from {host}</source>
        <translation>{version} · {size} · 许可证 {licence} · 来自 {host}</translation>
    </message>
    <message>
        <source>{build} is used when the engine is started the next time.</source>
        <translation>下次启动引擎时将使用 {build}。</translation>
    </message>
</context>
<context>
    <name>Leftovers</name>
    <message>
        <source>An engine of an earlier run is still running.</source>
        <translation>上次运行留下的引擎仍在运行。</translation>
    </message>
    <message>
        <source>{count} engines of an earlier run are still running.</source>
        <translation>上次运行留下的 {count} 个引擎仍在运行。</translation>
    </message>
    <message>
        <source>{model}, process {pid}, since {time}</source>
        <translation>{model}，进程 {pid}，启动于 {time}</translation>
    </message>
    <message>
        <source>End it</source>
        <translation>结束它</translation>
    </message>
    <message>
        <source>Leave it</source>
        <translation>保留</translation>
    </message>
</context>
<context>
    <name>LogView</name>
    <message>
        <source>The log is empty.</source>
        <translation>日志为空。</translation>
    </message>
    <message>
        <source>Engine log</source>
        <translation>引擎日志</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Next marked line</source>
        <translation>下一处标记</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Marked lines decide; grey ones only look like the cause and follow other failures, too.</source>
        <translation>标记的行是判断依据；灰色的行看似原因，但其他故障后也会出现。</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Set up</source>
        <translation>设置向导</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>规划</translation>
    </message>
    <message>
        <source>Monitor</source>
        <translation>监控</translation>
    </message>
    <message>
        <source>Serve</source>
        <translation>服务</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Quit Kimi Desktop?</source>
        <translation>要退出 Kimi Desktop 吗？</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>An answer is being written. The text so far is kept.</source>
        <translation>正在生成回答。已生成的内容会保留。</translation>
    </message>
    <message>
        <source>Programs that use {url} lose their connection.</source>
        <translation>正在使用 {url} 的程序会断开连接。</translation>
    </message>
</context>
<context>
    <name>MemoryBar</name>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>KV</source>
        <translation>KV</translation>
    </message>
    <message>
        <source>Compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>Overhead</source>
        <translation>开销</translation>
    </message>
    <message>
        <source>Others</source>
        <translation>其他程序</translation>
    </message>
    <message>
        <source>Spare</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>, </source>
        <translation>、</translation>
    </message>
    <message>
        <source>Short</source>
        <translation>不足</translation>
    </message>
    <message>
        <source>not forecast yet</source>
        <translation>尚未预测</translation>
    </message>
</context>
<context>
    <name>MessageBar</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>No model yet.</source>
        <translation>还没有模型。</translation>
    </message>
    <message>
        <source>No such model.</source>
        <translation>没有这样的模型。</translation>
    </message>
    <message>
        <source>Models: library and folders</source>
        <translation>模型：模型库与文件夹</translation>
    </message>
    <message>
        <source>Servers: add and check</source>
        <translation>服务器：添加与检查</translation>
    </message>
    <message>
        <source>{count} more on {server}: type a part of the name</source>
        <translation>{server} 上还有 {count} 个：输入名称的一部分</translation>
    </message>
    <message>
        <source>Other servers</source>
        <translation>其他服务器</translation>
    </message>
    <message>
        <source>no models</source>
        <translation>没有模型</translation>
    </message>
    <message>
        <source>asking …</source>
        <translation>正在查询…</translation>
    </message>
</context>
<context>
    <name>ModelPill</name>
    <message>
        <source>Model: {name}</source>
        <translation>模型：{name}</translation>
    </message>
    <message>
        <source>Choose a model ({shortcut})</source>
        <translation>选择模型（{shortcut}）</translation>
    </message>
    <message>
        <source>No model loaded</source>
        <translation>未加载模型</translation>
    </message>
    <message>
        <source>· did not start</source>
        <translation>· 未能启动</translation>
    </message>
    <message>
        <source>· has ended</source>
        <translation>· 已退出</translation>
    </message>
    <message>
        <source>· not loaded</source>
        <translation>· 未加载</translation>
    </message>
    <message>
        <source>· not reached</source>
        <translation>· 无法连接</translation>
    </message>
    <message>
        <source>· not attached</source>
        <translation>· 未连接</translation>
    </message>
</context>
<context>
    <name>NodesView</name>
    <message>
        <source>Several machines</source>
        <translation>多台机器</translation>
    </message>
    <message>
        <source>alike, with the same vLLM</source>
        <translation>配置相同，且 vLLM 版本相同</translation>
    </message>
    <message>
        <source>Addresses of the machines, this one first</source>
        <translation>各机器的地址，本机在前</translation>
    </message>
    <message>
        <source>Addresses in your private network; the first machine answers requests. With =NAME, what ssh knows a machine as, the last line checks it, starts there and ends there.</source>
        <translation>私有网络中的地址；第一台机器响应请求。加上 =名称（ssh 所知的名称）后，最后一行命令会在该机上检查、启动和结束。</translation>
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
        <source>Check the machines over ssh</source>
        <translation>通过 ssh 检查各机器</translation>
    </message>
    <message>
        <source>On {machine}</source>
        <translation>在 {machine} 上</translation>
    </message>
    <message>
        <source>All of them from here, over ssh</source>
        <translation>在本机通过 ssh 控制全部机器</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>Notices</name>
    <message>
        <source>Copy details</source>
        <translation>复制详情</translation>
    </message>
</context>
<context>
    <name>NumberField</name>
    <message>
        <source>A whole number from {least} to {most}, or empty.</source>
        <translation>{least} 到 {most} 之间的整数，或留空。</translation>
    </message>
</context>
<context>
    <name>PlanVerdict</name>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>GPU {number}</source>
        <translation>GPU {number}</translation>
    </message>
</context>
<context>
    <name>ProgressRow</name>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>{time} left</source>
        <translation>剩余 {time}</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>Question</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>Reasons</name>
    <message>
        <source>Why this plan</source>
        <translation>为什么这样规划</translation>
    </message>
</context>
<context>
    <name>ServerAnswer</name>
    <message>
        <source>Estimate</source>
        <translation>估算</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>命令行</translation>
    </message>
    <message>
        <source>Planning…</source>
        <translation>正在规划…</translation>
    </message>
    <message>
        <source>vLLM was not found. Install it, or name a Python: Settings, Engine.</source>
        <translation>未找到 vLLM。请在“设置 - 引擎”中安装，或指定装有它的 Python。</translation>
    </message>
    <message>
        <source>{engine} was not found. Point at a Python that has it: Settings, Engine.</source>
        <translation>未找到 {engine}。请在“设置 → 引擎”中指定装有它的 Python。</translation>
    </message>
    <message>
        <source>No forecast</source>
        <translation>暂无预测</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>可容纳</translation>
    </message>
    <message>
        <source>Does not fit</source>
        <translation>放不下</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
</context>
<context>
    <name>ServerForm</name>
    <message>
        <source>{build} does not know what this model asks for: {flags}.</source>
        <translation>{build} 不支持该模型要求的选项：{flags}。</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>预设</translation>
    </message>
    <message>
        <source>KV type</source>
        <translation>KV 类型</translation>
    </message>
    <message>
        <source>Served as</source>
        <translation>对外名称</translation>
    </message>
    <message>
        <source>Tool calls</source>
        <translation>工具调用解析</translation>
    </message>
    <message>
        <source>Thoughts</source>
        <translation>思考解析</translation>
    </message>
    <message>
        <source>Text only: the part that sees is not loaded</source>
        <translation>仅文本：不加载视觉部分</translation>
    </message>
    <message>
        <source>No CUDA graphs: starts sooner, decodes slower</source>
        <translation>不用 CUDA 图：启动更快，解码更慢</translation>
    </message>
    <message>
        <source>By the planner</source>
        <translation>由规划器决定</translation>
    </message>
    <message>
        <source>Own choices</source>
        <translation>自定义</translation>
    </message>
    <message>
        <source>Automatic (16 bits)</source>
        <translation>自动（16 位）</translation>
    </message>
    <message>
        <source>Automatic ({value})</source>
        <translation>自动（{value}）</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>None</source>
        <translation>无</translation>
    </message>
    <message>
        <source>{engine} does not take it.</source>
        <translation>{engine} 不支持此项。</translation>
    </message>
    <message>
        <source>{engine} does not have it.</source>
        <translation>{engine} 没有此项。</translation>
    </message>
    <message>
        <source>{engine} has no {flag}.</source>
        <translation>{engine} 没有 {flag}。</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Longest context, tokens</source>
        <translation>最大上下文（词元）</translation>
    </message>
    <message>
        <source>Share of each GPU, %</source>
        <translation>每张 GPU 的占用比例（%）</translation>
    </message>
    <message>
        <source>Sequences at once</source>
        <translation>同时处理的序列数</translation>
    </message>
    <message>
        <source>Tokens of one step</source>
        <translation>每步词元数</translation>
    </message>
    <message>
        <source>Weights in RAM per GPU, GiB</source>
        <translation>每张 GPU 放在内存的权重（GiB）</translation>
    </message>
    <message>
        <source>KV cache in RAM, GiB</source>
        <translation>内存中的 KV 缓存（GiB）</translation>
    </message>
    <message>
        <source>steps of {count} tokens</source>
        <translation>每步 {count} 个词元</translation>
    </message>
    <message>
        <source>{count} GiB in RAM</source>
        <translation>{count} GiB 在内存</translation>
    </message>
    <message>
        <source>text only</source>
        <translation>仅文本</translation>
    </message>
    <message>
        <source>no CUDA graphs</source>
        <translation>不用 CUDA 图</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>高级</translation>
    </message>
</context>
<context>
    <name>ShortcutList</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Search chats and commands</source>
        <translation>搜索对话与命令</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Go to a page</source>
        <translation>前往页面</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Show or hide the names in the rail</source>
        <translation>显示或隐藏导航栏文字</translation>
    </message>
    <message>
        <source>Send the message</source>
        <translation>发送消息</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>停止回答</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>重新回答</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>复制上一个回答</translation>
    </message>
    <message>
        <source>This list</source>
        <translation>本列表</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
</context>
<context>
    <name>SlowBar</name>
    <message>
        <source>Open Monitor</source>
        <translation>打开监控</translation>
    </message>
</context>
<context>
    <name>SplitFields</name>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Automatic ({value})</source>
        <translation>自动（{value}）</translation>
    </message>
    <message>
        <source>Tensor parallel</source>
        <translation>张量并行</translation>
    </message>
    <message>
        <source>Pipeline parallel</source>
        <translation>流水线并行</translation>
    </message>
    <message>
        <source>Data parallel</source>
        <translation>数据并行</translation>
    </message>
    <message>
        <source>Decode-context parallel</source>
        <translation>解码上下文并行</translation>
    </message>
    <message>
        <source>Every layer over so many GPUs: all work on every token.</source>
        <translation>每一层分到这么多 GPU：所有 GPU 共同计算每个词元。</translation>
    </message>
    <message>
        <source>Runs of layers on so many groups of GPUs, one after the other.</source>
        <translation>各层依次放在这么多组 GPU 上。</translation>
    </message>
    <message>
        <source>So many copies of attention, each with users of its own.</source>
        <translation>注意力部分复制这么多份，各自服务不同的用户。</translation>
    </message>
    <message>
        <source>The cache of every sequence over so many GPUs.</source>
        <translation>每条序列的缓存分布在这么多 GPU 上。</translation>
    </message>
    <message>
        <source>Deal experts out whole (expert parallel)</source>
        <translation>整个分配专家（专家并行）</translation>
    </message>
    <message>
        <source>Then: {changes}</source>
        <translation>同时变为：{changes}</translation>
    </message>
    <message>
        <source>{engine} has no {flag}.</source>
        <translation>{engine} 没有 {flag}。</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>张量并行</translation>
    </message>
    <message>
        <source>pipeline</source>
        <translation>流水线并行</translation>
    </message>
    <message>
        <source>data</source>
        <translation>数据并行</translation>
    </message>
    <message>
        <source>decode-context</source>
        <translation>解码上下文并行</translation>
    </message>
</context>
<context>
    <name>StatusBar</name>
    <message>
        <source>tok/s</source>
        <translation>词元/秒</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>首字延迟</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Open to the network: {address}</source>
        <translation>已向网络开放：{address}</translation>
    </message>
    <message>
        <source>Endpoint failed</source>
        <translation>服务端点故障</translation>
    </message>
    <message>
        <source>Endpoint off</source>
        <translation>服务端点未开启</translation>
    </message>
    <message>
        <source>Status: open Monitor</source>
        <translation>状态：打开监控</translation>
    </message>
    <message>
        <source>Open Monitor</source>
        <translation>打开监控</translation>
    </message>
    <message>
        <source>VRAM, {count} GPUs</source>
        <translation>显存，{count} 个 GPU</translation>
    </message>
    <message>
        <source>downloading {rate}</source>
        <translation>正在下载，{rate}</translation>
    </message>
</context>
<context>
    <name>TokenButton</name>
    <message>
        <source>Access tokens…</source>
        <translation>访问令牌…</translation>
    </message>
</context>
<context>
    <name>TopBar</name>
    <message>
        <source>Detach</source>
        <translation>断开</translation>
    </message>
    <message>
        <source>Attach</source>
        <translation>连接</translation>
    </message>
    <message>
        <source>Stop engine</source>
        <translation>停止引擎</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
</context>
<context>
    <name>WayOut</name>
    <message>
        <source>Apply and start</source>
        <translation>应用并启动</translation>
    </message>
</context>
</TS>
