<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>ConnectionCard</name>
    <message>
        <source>This is the new key. Give it to your programs.</source>
        <translation>这是新密钥，请更新到各程序中。</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>密钥</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>端口</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>复制地址</translation>
    </message>
    <message>
        <source>Copy the key</source>
        <translation>复制密钥</translation>
    </message>
    <message>
        <source>Copy the model&apos;s name</source>
        <translation>复制模型名称</translation>
    </message>
    <message>
        <source>Replace the key</source>
        <translation>更换密钥</translation>
    </message>
    <message>
        <source>Made when you switch it on for the first time</source>
        <translation>首次开启时生成</translation>
    </message>
    <message>
        <source>Shown once it is on and the engine is running</source>
        <translation>开启服务且引擎运行后显示</translation>
    </message>
    <message>
        <source>Move to this port</source>
        <translation>改用此端口</translation>
    </message>
    <message>
        <source>Keep it</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Replace the key?</source>
        <translation>要更换密钥吗？</translation>
    </message>
    <message>
        <source>Programs that use the old one are refused at once.</source>
        <translation>仍在使用旧密钥的程序会立即被拒绝。</translation>
    </message>
    <message>
        <source>Hide the key</source>
        <translation>隐藏密钥</translation>
    </message>
    <message>
        <source>Show the key</source>
        <translation>显示密钥</translation>
    </message>
    <message>
        <source>A number from {least} to {most}.</source>
        <translation>请输入 {least} 到 {most} 之间的数字。</translation>
    </message>
</context>
<context>
    <name>ServePage</name>
    <message>
        <source>Serve</source>
        <translation>服务</translation>
    </message>
    <message>
        <source>Let other programs use the model</source>
        <translation>允许其他程序使用模型</translation>
    </message>
    <message>
        <source>Open WebUI, the openai package, curl and whatever else speaks the OpenAI API.</source>
        <translation>适用于 Open WebUI、openai 软件包、curl 以及其他支持 OpenAI API 的程序。</translation>
    </message>
    <message>
        <source>Only programs on this machine can connect (127.0.0.1), and only with the key.</source>
        <translation>只有本机上的程序可以连接（127.0.0.1），并且必须提供密钥。</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Start engine</source>
        <translation>启动引擎</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>未开启</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>正在开启</translation>
    </message>
    <message>
        <source>On</source>
        <translation>已开启</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>{running} running · {served} answered</source>
        <translation>{running} 个进行中 · 已应答 {served} 个</translation>
    </message>
    <message>
        <source>Lines to copy stand here once it is on.</source>
        <translation>开启后，这里会显示可复制的示例代码。</translation>
    </message>
    <message>
        <source>Lines to copy stand here once the engine is running.</source>
        <translation>引擎运行后，这里会显示可复制的示例代码。</translation>
    </message>
    <message>
        <source>Use port {port}</source>
        <translation>使用端口 {port}</translation>
    </message>
    <message>
        <source>This port is taken.</source>
        <translation>此端口已被占用。</translation>
    </message>
    <message>
        <source>Requests of other programs are refused until it runs.</source>
        <translation>引擎运行之前，其他程序的请求会被拒绝。</translation>
    </message>
    <message>
        <source>The model is loading.</source>
        <translation>正在加载模型。</translation>
    </message>
    <message>
        <source>Requests of other programs are refused until it is ready.</source>
        <translation>模型就绪之前，其他程序的请求会被拒绝。</translation>
    </message>
    <message>
        <source>The engine is not running.</source>
        <translation>引擎未运行。</translation>
    </message>
</context>
<context>
    <name>SnippetCard</name>
    <message>
        <source>Try it</source>
        <translation>试一试</translation>
    </message>
    <message>
        <source>Lines for</source>
        <translation>示例类型</translation>
    </message>
    <message>
        <source>curl</source>
        <translation>curl</translation>
    </message>
    <message>
        <source>Python</source>
        <translation>Python</translation>
    </message>
    <message>
        <source>openai package</source>
        <translation>openai 软件包</translation>
    </message>
    <message>
        <source>For a terminal with bash or zsh.</source>
        <translation>在 bash 或 zsh 终端中运行。</translation>
    </message>
    <message>
        <source>For Python 3, without a package to install.</source>
        <translation>在 Python 3 中运行，无需安装软件包。</translation>
    </message>
    <message>
        <source>For Python 3 with the openai package.</source>
        <translation>在安装了 openai 软件包的 Python 3 中运行。</translation>
    </message>
    <message>
        <source>Copy the lines</source>
        <translation>复制代码</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
</TS>
