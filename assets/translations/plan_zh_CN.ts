<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AdvancedSection</name>
    <message>
        <source>Batch</source>
        <translation>批大小</translation>
    </message>
    <message>
        <source>Micro-batch</source>
        <translation>微批大小</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>线程数</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Automatic ({count})</source>
        <translation>自动（{count}）</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>高级</translation>
    </message>
    <message>
        <source>batch {count}</source>
        <translation>批 {count}</translation>
    </message>
    <message>
        <source>micro-batch {count}</source>
        <translation>微批 {count}</translation>
    </message>
    <message>
        <source>{count} threads</source>
        <translation>{count} 线程</translation>
    </message>
    <message>
        <source>The batch limits it.</source>
        <translation>受批大小限制。</translation>
    </message>
    <message>
        <source>More than physical cores: decode gets slower.</source>
        <translation>超过物理核心数，解码会变慢。</translation>
    </message>
</context>
<context>
    <name>AnswerPanel</name>
    <message>
        <source>Estimate</source>
        <translation>估算</translation>
    </message>
    <message>
        <source>Load anyway</source>
        <translation>仍要加载</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>命令行</translation>
    </message>
    <message>
        <source>Running with this plan</source>
        <translation>正按此方案运行</translation>
    </message>
    <message>
        <source>Start with this plan</source>
        <translation>按此方案启动</translation>
    </message>
    <message>
        <source>Tick “Load anyway” to start a plan that does not fit</source>
        <translation>该方案放不下；勾选“仍要加载”后可启动</translation>
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
    <name>ChoicePanel</name>
    <message>
        <source>Plan</source>
        <translation>规划</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重置</translation>
    </message>
    <message>
        <source>Back to what this model was last loaded with</source>
        <translation>恢复为此模型上次加载时的设置</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Quantization</source>
        <translation>量化</translation>
    </message>
    <message>
        <source>Placement</source>
        <translation>分配方式</translation>
    </message>
    <message>
        <source>Choose an engine</source>
        <translation>选择引擎</translation>
    </message>
    <message>
        <source>GPU layers</source>
        <translation>GPU 层数</translation>
    </message>
    <message>
        <source>Expert layers in RAM</source>
        <translation>内存中的专家层</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>KV type</source>
        <translation>KV 类型</translation>
    </message>
    <message>
        <source>Parallel chats</source>
        <translation>并行对话</translation>
    </message>
    <message>
        <source>This engine was built without GPU support, so everything runs from RAM. A llama-server with GPU support can be chosen instead.</source>
        <translation>当前引擎不带 GPU 支持，全部在内存中运行。可以改用支持 GPU 的 llama-server。</translation>
    </message>
    <message>
        <source>The GPU of this Mac shares main memory: the bar of RAM counts both.</source>
        <translation>这台 Mac 的 GPU 与系统共享内存，内存条已合并计算。</translation>
    </message>
    <message>
        <source>The GPU does not answer, so everything runs from RAM.</source>
        <translation>GPU 没有响应，全部在内存中运行。</translation>
    </message>
    <message>
        <source>No GPU driver was found, so everything runs from RAM.</source>
        <translation>未找到 GPU 驱动，全部在内存中运行。</translation>
    </message>
    <message>
        <source>This machine has no GPU that is known here: everything runs from RAM.</source>
        <translation>本机没有可用的 GPU，全部在内存中运行。</translation>
    </message>
    <message>
        <source>{count} of {total}</source>
        <translation>{count} / {total}</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 词元</translation>
    </message>
    <message>
        <source>{count} tokens each</source>
        <translation>每个对话 {count} 词元</translation>
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
    <name>PlanPage</name>
    <message>
        <source>No model to plan with yet.</source>
        <translation>还没有可规划的模型。</translation>
    </message>
    <message>
        <source>Open the models library</source>
        <translation>打开模型库</translation>
    </message>
    <message>
        <source>A plan needs to know this machine: its memory and its GPUs.</source>
        <translation>规划前需要先了解本机的内存和 GPU。</translation>
    </message>
    <message>
        <source>Look at the machine</source>
        <translation>检测本机</translation>
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
    <message>
        <source>No forecast</source>
        <translation>无法预测</translation>
    </message>
    <message>
        <source>{size} short</source>
        <translation>缺 {size}</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>可容纳</translation>
    </message>
    <message>
        <source>Tight</source>
        <translation>偏紧</translation>
    </message>
    <message>
        <source>Weights and KV fit</source>
        <translation>权重与 KV 可容纳</translation>
    </message>
    <message>
        <source>The header of this file does not say enough for a forecast.</source>
        <translation>该文件头的信息不足，无法预测。</translation>
    </message>
    <message>
        <source>{first} {second}</source>
        <translation>{first}{second}</translation>
    </message>
    <message>
        <source>, </source>
        <comment>between the items of a list</comment>
        <translation>、</translation>
    </message>
    <message>
        <source>{items} and {last}</source>
        <translation>{items} 和{last}</translation>
    </message>
    <message>
        <source>{size} on {device}</source>
        <translation>{device} {size}</translation>
    </message>
    <message>
        <source>{size} in RAM</source>
        <translation>内存 {size}</translation>
    </message>
    <message>
        <source>at least {size} on every GPU</source>
        <translation>每块 GPU 至少 {size}</translation>
    </message>
    <message>
        <source>Fits at {context} context, with {left} to spare.</source>
        <translation>{context} 上下文可以容纳，剩余：{left}。</translation>
    </message>
    <message>
        <source>Weights and KV cache fit at {context} context. That leaves {left} for compute buffers and the engine.</source>
        <translation>{context} 上下文下，权重和 KV 缓存可以容纳；留给计算缓冲区和引擎的有：{left}。</translation>
    </message>
    <message>
        <source>Compute buffers are not forecast yet, and less than a tenth of {device} is left for them: the start may run out of memory.</source>
        <translation>计算缓冲区尚未预测，而 {device} 只剩不到十分之一可供使用：启动时可能内存不足。</translation>
    </message>
    <message>
        <source>An estimate: how the architecture {name} uses memory is not known exactly here.</source>
        <translation>仅为估算：尚不完全了解 {name} 架构的内存占用方式。</translation>
    </message>
    <message>
        <source>{size} short on {device}: {needed} needed, {total} there.</source>
        <translation>{device} 缺 {size}：需要 {needed}，共有 {total}。</translation>
    </message>
    <message>
        <source>{size} of RAM short: {needed} needed, {total} there.</source>
        <translation>内存缺 {size}：需要 {needed}，共有 {total}。</translation>
    </message>
    <message>
        <source>The weights alone are larger than RAM and VRAM together, so most of every token would be read from the disk, very slowly. Choose a smaller quantization or model.</source>
        <translation>仅权重就超过内存与显存之和，每生成一个词元都要从磁盘读取大部分权重，非常慢。请选择更小的量化或模型。</translation>
    </message>
    <message>
        <source>Other programs hold {size} of it.</source>
        <translation>其他程序占用了其中 {size}。</translation>
    </message>
    <message>
        <source>Put more layers on the GPU.</source>
        <translation>请把更多层放到 GPU 上。</translation>
    </message>
    <message>
        <source>Move expert layers from RAM to the GPU.</source>
        <translation>请把部分专家层从内存移到 GPU。</translation>
    </message>
    <message>
        <source>Keep more expert layers in RAM.</source>
        <translation>请把更多专家层留在内存中。</translation>
    </message>
    <message>
        <source>Shorten the context, or take a smaller KV type.</source>
        <translation>请缩短上下文，或改用更小的 KV 类型。</translation>
    </message>
    <message>
        <source>Put fewer layers on the GPU.</source>
        <translation>请减少放到 GPU 的层数。</translation>
    </message>
    <message>
        <source>Choose a smaller quantization or model.</source>
        <translation>请选择更小的量化或模型。</translation>
    </message>
</context>
<context>
    <name>_Facts</name>
    <message>
        <source>{size} of weights</source>
        <translation>权重 {size}</translation>
    </message>
    <message>
        <source>{count} files</source>
        <translation>{count} 个文件</translation>
    </message>
    <message>
        <source>{count} bytes per token at f16</source>
        <translation>f16 下每词元 {count} 字节</translation>
    </message>
    <message>
        <source>of {size}</source>
        <translation>共 {size}</translation>
    </message>
    <message>
        <source>File size</source>
        <translation>文件大小</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>RAM free now</source>
        <translation>当前空闲内存</translation>
    </message>
    <message>
        <source>VRAM free now</source>
        <translation>当前空闲显存</translation>
    </message>
</context>
</TS>
