<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AnswerWords</name>
    <message>
        <source>first token {time}</source>
        <translation>首字延迟 {time}</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 词元</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 词元</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>思考中…</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>已思考</translation>
    </message>
    <message>
        <source>Thinking… {time}</source>
        <translation>思考中… {time}</translation>
    </message>
    <message>
        <source>Thought for {time}</source>
        <translation>已思考 {time}</translation>
    </message>
    <message>
        <source>The answer broke off.</source>
        <translation>回答中断了。</translation>
    </message>
    <message>
        <source>The text so far is kept.</source>
        <translation>已生成的内容会保留。</translation>
    </message>
    <message>
        <source>reading the prompt, {done} of {total} tokens</source>
        <translation>正在读取提示词，{done} / {total} 词元</translation>
    </message>
    <message>
        <source>generating</source>
        <translation>生成中</translation>
    </message>
    <message>
        <source>stopped: end</source>
        <translation>结束原因：正常结束</translation>
    </message>
    <message>
        <source>stopped: max tokens reached</source>
        <translation>结束原因：达到最大词元数</translation>
    </message>
    <message>
        <source>stopped: the context is full</source>
        <translation>已停止：上下文已满</translation>
    </message>
    <message>
        <source>stopped: by you</source>
        <translation>结束原因：由你停止</translation>
    </message>
    <message>
        <source>stopped: failed</source>
        <translation>结束原因：出错</translation>
    </message>
</context>
<context>
    <name>ChatList</name>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Hide the list of chats</source>
        <translation>隐藏对话列表</translation>
    </message>
    <message>
        <source>No chat has these words.</source>
        <translation>没有对话包含这些内容。</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话列表</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>今天</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>昨天</translation>
    </message>
    <message>
        <source>Name of the chat</source>
        <translation>对话名称</translation>
    </message>
</context>
<context>
    <name>CodeView</name>
    <message>
        <source>code</source>
        <translation>代码</translation>
    </message>
    <message>
        <source>Code, {language}</source>
        <translation>代码，{language}</translation>
    </message>
    <message>
        <source>text</source>
        <translation>纯文本</translation>
    </message>
    <message>
        <source>Wrap</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Wrap long lines</source>
        <translation>长行自动换行</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>复制代码</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Sends when ready</source>
        <translation>就绪后发送</translation>
    </message>
    <message>
        <source>Sends when {model} is ready</source>
        <translation>{model} 就绪后发送</translation>
    </message>
    <message>
        <source>Message {model}</source>
        <translation>给 {model} 发消息</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>输入消息</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Save and answer</source>
        <translation>保存并回答</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>撤回</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Editing your message</source>
        <translation>正在编辑你的消息</translation>
    </message>
    <message>
        <source>The answer is written anew; both are kept.</source>
        <translation>将重新生成回答；新旧版本都会保留。</translation>
    </message>
    <message>
        <source>Enter to send</source>
        <translation>Enter 发送</translation>
    </message>
    <message>
        <source>Ctrl+Enter to send</source>
        <translation>Ctrl+Enter 发送</translation>
    </message>
    <message>
        <source>Esc to stop</source>
        <translation>Esc 停止</translation>
    </message>
</context>
<context>
    <name>ContextSection</name>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Context used</source>
        <translation>已用上下文</translation>
    </message>
</context>
<context>
    <name>Conversation</name>
    <message>
        <source>Show the list of chats</source>
        <translation>显示对话列表</translation>
    </message>
    <message>
        <source>Show the inspector</source>
        <translation>显示检查器</translation>
    </message>
</context>
<context>
    <name>Inspector</name>
    <message>
        <source>Inspector</source>
        <translation>检查器</translation>
    </message>
    <message>
        <source>Hide the inspector</source>
        <translation>隐藏检查器</translation>
    </message>
</context>
<context>
    <name>LinkPopover</name>
    <message>
        <source>Open this address in the browser?</source>
        <translation>要在浏览器中打开此地址吗？</translation>
    </message>
    <message>
        <source>Addresses of this kind are not opened.</source>
        <translation>不会打开这类地址。</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Copy address</source>
        <translation>复制地址</translation>
    </message>
</context>
<context>
    <name>LiveSection</name>
    <message>
        <source>Live</source>
        <translation>实时</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>首字延迟</translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>Tokens per second, last 60 seconds</source>
        <translation>最近 60 秒的生成速度（词元/秒）</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>词元/秒</translation>
    </message>
    <message>
        <source>60 s</source>
        <translation>60 秒</translation>
    </message>
    <message>
        <source>loading · 60 s</source>
        <translation>加载 · 60 秒</translation>
    </message>
    <message>
        <source>prefill · 60 s</source>
        <translation>预填充 · 60 秒</translation>
    </message>
    <message>
        <source>decode · 60 s</source>
        <translation>解码 · 60 秒</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>{new} new · {cached} cached</source>
        <translation>新增 {new} · 缓存 {cached}</translation>
    </message>
</context>
<context>
    <name>LoadSection</name>
    <message>
        <source>Load settings</source>
        <translation>加载设置</translation>
    </message>
    <message>
        <source>GPU layers</source>
        <translation>GPU 层数</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Quantization</source>
        <translation>量化</translation>
    </message>
    <message>
        <source>{count} of {total}</source>
        <translation>{count} / {total}</translation>
    </message>
    <message>
        <source>no GPU</source>
        <translation>没有 GPU</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 词元</translation>
    </message>
    <message>
        <source>Reload with changes</source>
        <translation>按更改重新加载</translation>
    </message>
    <message>
        <source>Load the model</source>
        <translation>加载模型</translation>
    </message>
    <message>
        <source>No changes</source>
        <translation>无更改</translation>
    </message>
    <message>
        <source>GPU {index}</source>
        <translation>GPU {index}</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Will use {devices}.</source>
        <translation>将占用：{devices}。</translation>
    </message>
    <message>
        <source>Does not fit: {devices}.</source>
        <translation>放不下：{devices}。</translation>
    </message>
</context>
<context>
    <name>MarkdownImage</name>
    <message>
        <source>Image: {text}</source>
        <translation>图片：{text}</translation>
    </message>
</context>
<context>
    <name>MemorySection</name>
    <message>
        <source>Memory</source>
        <translation>内存与显存</translation>
    </message>
    <message>
        <source>GPU {index}</source>
        <translation>GPU {index}</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
</context>
<context>
    <name>NoticeView</name>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>QuestionView</name>
    <message>
        <source>Show less</source>
        <translation>收起</translation>
    </message>
    <message>
        <source>Your message</source>
        <translation>你的消息</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Edit message</source>
        <translation>编辑消息</translation>
    </message>
    <message>
        <source>Show all {count} characters</source>
        <translation>显示全部 {count} 个字符</translation>
    </message>
</context>
<context>
    <name>SamplingSection</name>
    <message>
        <source>Sampling</source>
        <translation>采样</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Max tokens</source>
        <translation>最大词元数</translation>
    </message>
    <message>
        <source>This base model is shown with a sampling of its own.</source>
        <translation>这个基础模型使用自带的采样设置进行演示。</translation>
    </message>
    <message>
        <source>Choose a preset</source>
        <translation>选择预设</translation>
    </message>
    <message>
        <source>Thinking preset</source>
        <translation>思考预设</translation>
    </message>
    <message>
        <source>Instant preset</source>
        <translation>快速预设</translation>
    </message>
    <message>
        <source>Custom</source>
        <translation>自定义</translation>
    </message>
    <message>
        <source>Base model</source>
        <translation>基础模型</translation>
    </message>
    <message>
        <source>From {low} to {high}.</source>
        <translation>范围：{low} 到 {high}。</translation>
    </message>
</context>
<context>
    <name>StartPanel</name>
    <message>
        <source>No model yet. See what this machine can run.</source>
        <translation>还没有模型。看看这台机器能运行什么。</translation>
    </message>
    <message>
        <source>See what this machine can run</source>
        <translation>看看这台机器能运行什么</translation>
    </message>
    <message>
        <source>Load the model</source>
        <translation>加载模型</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>加载中</translation>
    </message>
    <message>
        <source>Not loaded</source>
        <translation>未加载</translation>
    </message>
    <message>
        <source>ready</source>
        <translation>已就绪</translation>
    </message>
    <message>
        <source>Attach</source>
        <translation>连接</translation>
    </message>
    <message>
        <source>Not attached</source>
        <translation>未连接</translation>
    </message>
    <message>
        <source>What you write is sent to {host}.</source>
        <translation>您输入的内容会发送到 {host}。</translation>
    </message>
    <message>
        <source>Explain mixture of experts to a colleague in five sentences.</source>
        <translation>用五句话向同事解释混合专家模型。</translation>
    </message>
    <message>
        <source>Write a Python function that merges overlapping intervals.</source>
        <translation>写一个合并重叠区间的 Python 函数。</translation>
    </message>
    <message>
        <source>Plan a three-day reading list about the history of computing.</source>
        <translation>制定一份为期三天的计算机史阅读计划。</translation>
    </message>
    <message>
        <source>What is the capital of France?</source>
        <translation>法国的首都是哪里？</translation>
    </message>
    <message>
        <source>Name three planets.</source>
        <translation>说出三颗行星。</translation>
    </message>
    <message>
        <source>What colour is the sky on a clear day?</source>
        <translation>晴天的天空是什么颜色？</translation>
    </message>
</context>
<context>
    <name>StatsView</name>
    <message>
        <source>Copy answer</source>
        <translation>复制回答</translation>
    </message>
    <message>
        <source>Edit the question</source>
        <translation>编辑问题</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>重新回答</translation>
    </message>
</context>
<context>
    <name>TextView</name>
    <message>
        <source>Thinking</source>
        <translation>思考过程</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>To latest</source>
        <translation>回到最新</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>对话内容</translation>
    </message>
</context>
<context>
    <name>TranscriptSelect</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy link address</source>
        <translation>复制链接地址</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>全选</translation>
    </message>
</context>
<context>
    <name>UndoBar</name>
    <message>
        <source>Deleted: {title}</source>
        <translation>已删除：{title}</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
</context>
<context>
    <name>VersionSwitch</name>
    <message>
        <source>Older version</source>
        <translation>上一个版本</translation>
    </message>
    <message>
        <source>Newer version</source>
        <translation>下一个版本</translation>
    </message>
</context>
<context>
    <name>_ChatView</name>
    <message>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
</context>
</TS>
