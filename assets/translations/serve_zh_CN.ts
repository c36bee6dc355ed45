<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>ClientsCard</name>
    <message>
        <source>Keys for programs</source>
        <translation>程序密钥</translation>
    </message>
    <message>
        <source>Give each program a key of its own: then one can be revoked without the others.</source>
        <translation>为每个程序分配独立的密钥：这样可以单独撤销其中一个。</translation>
    </message>
    <message>
        <source>Name of the program</source>
        <translation>程序名称</translation>
    </message>
    <message>
        <source>Add a key</source>
        <translation>添加密钥</translation>
    </message>
</context>
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
    <name>ReachCard</name>
    <message>
        <source>No local network is connected.</source>
        <translation>未连接局域网。</translation>
    </message>
    <message>
        <source>Who can connect</source>
        <translation>谁可以连接</translation>
    </message>
    <message>
        <source>This machine</source>
        <translation>本机</translation>
    </message>
    <message>
        <source>Local network</source>
        <translation>局域网</translation>
    </message>
    <message>
        <source>Address in the local network</source>
        <translation>局域网地址</translation>
    </message>
    <message>
        <source>Encrypt what is sent (TLS)</source>
        <translation>加密传输内容（TLS）</translation>
    </message>
    <message>
        <source>Save the certificate…</source>
        <translation>保存证书…</translation>
    </message>
    <message>
        <source>The address for a phone or tablet in this network. The key is not in it.</source>
        <translation>供此网络中的手机或平板使用的地址，不含密钥。</translation>
    </message>
    <message>
        <source>QR code of the address</source>
        <translation>地址的二维码</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>开放</translation>
    </message>
    <message>
        <source>Keep it closed</source>
        <translation>保持关闭</translation>
    </message>
    <message>
        <source>Open the endpoint to the local network?</source>
        <translation>要向局域网开放此端点吗？</translation>
    </message>
    <message>
        <source>Who has a key and is in this network can use the model.</source>
        <translation>此网络中持有密钥的人可以使用该模型。</translation>
    </message>
    <message>
        <source>What is sent is not encrypted, so that others in the network may read it.</source>
        <translation>传输内容未加密，网络中的其他人可能读到。</translation>
    </message>
    <message>
        <source>They trust the certificate, whose fingerprint stands above; nobody else vouches for it.</source>
        <translation>这些程序需信任此证书，其指纹见上方；没有其他机构为其担保。</translation>
    </message>
    <message>
        <source>Programs in the network of {address} can connect with a key. It closes by itself when this machine leaves that network.</source>
        <translation>{address} 所在网络中的程序可凭密钥连接。本机离开该网络后会自动关闭。</translation>
    </message>
    <message>
        <source>Only programs on this machine can connect (127.0.0.1), and only with the key.</source>
        <translation>只有本机上的程序（127.0.0.1）可以连接，且必须使用密钥。</translation>
    </message>
</context>
<context>
    <name>RequestsCard</name>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Nobody has asked yet.</source>
        <translation>还没有请求。</translation>
    </message>
    <message>
        <source>waits</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>running</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>not understood</source>
        <translation>无法理解</translation>
    </message>
    <message>
        <source>no or a wrong key</source>
        <translation>无密钥或密钥错误</translation>
    </message>
    <message>
        <source>another host or a web page</source>
        <translation>其他主机名或网页</translation>
    </message>
    <message>
        <source>another address</source>
        <translation>其他地址</translation>
    </message>
    <message>
        <source>too large</source>
        <translation>过大</translation>
    </message>
    <message>
        <source>too many</source>
        <translation>过多</translation>
    </message>
    <message>
        <source>no model</source>
        <translation>无模型</translation>
    </message>
    <message>
        <source>Refused in the last ten minutes: {why}. The last one came from {peer}.</source>
        <translation>最近十分钟内被拒绝：{why}。最后一次来自 {peer}。</translation>
    </message>
    <message>
        <source>left early</source>
        <translation>提前断开</translation>
    </message>
    <message>
        <source>answered</source>
        <translation>已回答</translation>
    </message>
    <message>
        <source>refused ({status})</source>
        <translation>已拒绝（{status}）</translation>
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
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Open to the local network</source>
        <translation>已向局域网开放</translation>
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
    <message>
        <source>Save the certificate</source>
        <translation>保存证书</translation>
    </message>
    <message>
        <source>Saved: {path}</source>
        <translation>已保存：{path}</translation>
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
<context>
    <name>_ClientRow</name>
    <message>
        <source>Copy the key of {name}</source>
        <translation>复制 {name} 的密钥</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>撤销</translation>
    </message>
</context>
</TS>
