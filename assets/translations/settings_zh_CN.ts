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
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Use the embedded engine</source>
        <translation>使用自带引擎</translation>
    </message>
    <message>
        <source>llama-server program</source>
        <translation>选择 llama-server 程序</translation>
    </message>
    <message>
        <source>Used when the engine is started the next time.</source>
        <translation>下次启动引擎时生效。</translation>
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
</TS>
