<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>MachineStep</name>
    <message>
        <source>Your machine</source>
        <translation>你的机器</translation>
    </message>
    <message>
        <source>Next: what runs here</source>
        <translation>下一步：看看能运行什么</translation>
    </message>
    <message>
        <source>Check again</source>
        <translation>重新检测</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Measure again</source>
        <translation>重新测量</translation>
    </message>
    <message>
        <source>Measure speeds</source>
        <translation>测量速度</translation>
    </message>
    <message>
        <source>{doing}: {percent}%</source>
        <translation>{doing}：{percent}%</translation>
    </message>
    <message>
        <source>Looking at processor, memory, GPUs and disks</source>
        <translation>正在检测处理器、内存、GPU 和磁盘</translation>
    </message>
    <message>
        <source>Checked in {time}</source>
        <translation>检测用时 {time}</translation>
    </message>
</context>
<context>
    <name>ModelStep</name>
    <message>
        <source>First model</source>
        <translation>第一个模型</translation>
    </message>
    <message>
        <source>Install and go on</source>
        <translation>安装并继续</translation>
    </message>
    <message>
        <source>Download and go on</source>
        <translation>下载并继续</translation>
    </message>
    <message>
        <source>Next: start</source>
        <translation>下一步：启动</translation>
    </message>
    <message>
        <source>Putting the demo model together</source>
        <translation>正在拼装演示模型</translation>
    </message>
    <message>
        <source>Downloading the small chat model</source>
        <translation>正在下载小型对话模型</translation>
    </message>
    <message>
        <source>A model is a file. Start with a small one; large ones come later.</source>
        <translation>模型就是一个文件。先从小模型开始，大模型以后再说。</translation>
    </message>
    <message>
        <source>I have models in a folder…</source>
        <translation>我的文件夹里已有模型…</translation>
    </message>
    <message>
        <source>GGUF files are used where they are, nothing is copied.</source>
        <translation>直接使用原位置的 GGUF 文件，不会复制。</translation>
    </message>
    <message>
        <source>Demo model: Gemma 3 270M</source>
        <translation>演示模型：Gemma 3 270M</translation>
    </message>
    <message>
        <source>Comes with the app. A base model: it continues text and is no assistant.</source>
        <translation>随应用提供。这是基座模型：只会续写文本，不是助手。</translation>
    </message>
    <message>
        <source>no download</source>
        <translation>无需下载</translation>
    </message>
    <message>
        <source>Small chat model: Qwen3 0.6B</source>
        <translation>小型对话模型：Qwen3 0.6B</translation>
    </message>
    <message>
        <source>Answers questions. Downloaded from Hugging Face, hf-mirror or ModelScope, whichever answers, and checked by its SHA-256.</source>
        <translation>可以回答问题。从 Hugging Face、hf-mirror 或 ModelScope 中可用的一处下载，并用 SHA-256 校验。</translation>
    </message>
    <message>
        <source>needs a network</source>
        <translation>需要联网</translation>
    </message>
    <message>
        <source>Folder with GGUF files</source>
        <translation>选择存放 GGUF 文件的文件夹</translation>
    </message>
    <message>
        <source>No GGUF model that can be started is in this folder.</source>
        <translation>该文件夹中没有可以启动的 GGUF 模型。</translation>
    </message>
    <message>
        <source>Choose another folder, or one of the models above.</source>
        <translation>请选择其他文件夹，或使用上面的模型。</translation>
    </message>
    <message>
        <source>Checking every byte (SHA-256)</source>
        <translation>正在逐字节校验（SHA-256）</translation>
    </message>
</context>
<context>
    <name>RunsStep</name>
    <message>
        <source>What runs here</source>
        <translation>本机能运行什么</translation>
    </message>
    <message>
        <source>Next: first model</source>
        <translation>下一步：第一个模型</translation>
    </message>
    <message>
        <source>Each model with the file that suits this machine, before you download anything.</source>
        <translation>下载之前先看清：每个模型都列出最适合本机的文件。</translation>
    </message>
    <message>
        <source>Estimated for a context of 32K tokens and a prompt of 2,048; once a file’s header is read, Plan says it exactly.</source>
        <translation>按 32K 词元上下文、2,048 词元提示词估算；读取文件头之后，“规划”页会给出精确数字。</translation>
    </message>
    <message>
        <source>These figures use your GPUs; the engine that is chosen does not.</source>
        <translation>这些数字按使用 GPU 计算，而当前选择的引擎不使用 GPU。</translation>
    </message>
    <message>
        <source>Get a llama.cpp built for them, or choose one of yours, to get this speed.</source>
        <translation>要达到此速度，请获取支持 GPU 的 llama.cpp，或选择自己的版本。</translation>
    </message>
    <message>
        <source>Get one</source>
        <translation>获取</translation>
    </message>
    <message>
        <source>No model of the family fits into the memory of this machine.</source>
        <translation>本机内存放不下该系列的任何模型。</translation>
    </message>
    <message>
        <source>This machine has not been looked at yet: go back one step.</source>
        <translation>尚未检测本机：请返回上一步。</translation>
    </message>
    <message>
        <source>Hide what does not fit</source>
        <translation>隐藏放不下的模型</translation>
    </message>
    <message>
        <source>Show {count} more that do not fit</source>
        <translation>再显示 {count} 个放不下的模型</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>On this machine</source>
        <translation>在本机</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Download {name} {file}</source>
        <translation>下载 {name} {file}</translation>
    </message>
</context>
<context>
    <name>StartStep</name>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>Say hello</source>
        <translation>打个招呼</translation>
    </message>
    <message>
        <source>Start the model</source>
        <translation>启动模型</translation>
    </message>
    <message>
        <source>No model is chosen yet.</source>
        <translation>尚未选择模型。</translation>
    </message>
    <message>
        <source>Choose one</source>
        <translation>选择一个</translation>
    </message>
    <message>
        <source>Starting the engine</source>
        <translation>正在启动引擎</translation>
    </message>
    <message>
        <source>Warming up: the first run of the model</source>
        <translation>正在预热：模型首次运行</translation>
    </message>
    <message>
        <source>Loading the model into memory</source>
        <translation>正在把模型载入内存</translation>
    </message>
    <message>
        <source>context {size}</source>
        <translation>上下文 {size}</translation>
    </message>
    <message>
        <source>Ready after {time}. Everything it says stays on this machine.</source>
        <translation>{time}后就绪。所有对话内容都留在本机。</translation>
    </message>
    <message>
        <source>Everything it says stays on this machine.</source>
        <translation>所有对话内容都留在本机。</translation>
    </message>
    <message>
        <source>{device}: {used} of {total}</source>
        <translation>{device}：{used} / {total}</translation>
    </message>
</context>
<context>
    <name>Step</name>
    <message>
        <source>Step {number} of {count}</source>
        <translation>第 {number} 步，共 {count} 步</translation>
    </message>
</context>
<context>
    <name>WizardPage</name>
    <message>
        <source>Back</source>
        <translation>上一步</translation>
    </message>
    <message>
        <source>Skip this step</source>
        <translation>跳过此步</translation>
    </message>
    <message>
        <source>Step {number} of {count}</source>
        <translation>第 {number} 步，共 {count} 步</translation>
    </message>
    <message>
        <source>Hello! What can you do?</source>
        <translation>你好！你能做些什么？</translation>
    </message>
</context>
</TS>
