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
        <source>Weights in RAM</source>
        <translation>内存中的权重</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>高级</translation>
    </message>
    <message>
        <source>Automatic ({value})</source>
        <translation>自动（{value}）</translation>
    </message>
    <message>
        <source>Mapped from the file</source>
        <translation>映射文件（mmap）</translation>
    </message>
    <message>
        <source>Copied (no mmap)</source>
        <translation>复制到内存（不用 mmap）</translation>
    </message>
    <message>
        <source>Mapped and locked</source>
        <translation>映射并锁定（mlock）</translation>
    </message>
    <message>
        <source>Copied past the cache (direct I/O)</source>
        <translation>绕过缓存复制（直接 I/O）</translation>
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
        <source>1 thread</source>
        <translation>1 线程</translation>
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
        <source>Checked by the engine</source>
        <translation>已由引擎核对</translation>
    </message>
    <message>
        <source>{build} would allocate the same, as its own dry run says.</source>
        <translation>{build} 的试运行给出了相同的分配。</translation>
    </message>
    <message>
        <source>The engine differs by {size}</source>
        <translation>与引擎相差 {size}</translation>
    </message>
    <message>
        <source>{build} would allocate otherwise, as its own dry run says.</source>
        <translation>{build} 的试运行给出了不同的分配。</translation>
    </message>
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
        <source>What helps</source>
        <translation>可行的办法</translation>
    </message>
    <message>
        <source>If you change one thing</source>
        <translation>只改一项</translation>
    </message>
    <message>
        <source>No forecast</source>
        <translation>暂无预测</translation>
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
    <name>ChangeRow</name>
    <message>
        <source>Plan with this change</source>
        <translation>按此更改重新规划</translation>
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
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Quantization</source>
        <translation>量化</translation>
    </message>
    <message>
        <source>Leave everything to the planner again</source>
        <translation>全部重新交给规划器</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>方案</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Let the planner choose the context again</source>
        <translation>让规划器重新选择上下文</translation>
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
        <source>Not installed</source>
        <translation>未安装</translation>
    </message>
    <message>
        <source>Choose another…</source>
        <translation>选择其他引擎…</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 词元</translation>
    </message>
    <message>
        <source>{count} tokens, automatic</source>
        <translation>{count} 词元，自动</translation>
    </message>
    <message>
        <source>Auto</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>{type}, chosen by the planner</source>
        <translation>{type}，由规划器选择</translation>
    </message>
    <message>
        <source>{count} tokens each</source>
        <translation>每个对话 {count} 词元</translation>
    </message>
</context>
<context>
    <name>OptionsSection</name>
    <message>
        <source>Flash attention</source>
        <translation>Flash Attention</translation>
    </message>
    <message>
        <source>Memory nodes (NUMA)</source>
        <translation>内存节点（NUMA）</translation>
    </message>
    <message>
        <source>Projector, for images</source>
        <translation>投影器（用于图片）</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>聊天模板</translation>
    </message>
    <message>
        <source>LoRA adapter</source>
        <translation>LoRA 适配器</translation>
    </message>
    <message>
        <source>Guess ahead (speculative decoding)</source>
        <translation>提前推测（投机解码）</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>草稿模型</translation>
    </message>
    <message>
        <source>Tokens guessed at once</source>
        <translation>每次推测的词元数</translation>
    </message>
    <message>
        <source>More arguments for llama-server</source>
        <translation>llama-server 的更多参数</translation>
    </message>
    <message>
        <source>None</source>
        <translation>无</translation>
    </message>
    <message>
        <source>The model’s own</source>
        <translation>模型自带</translation>
    </message>
    <message>
        <source>Choose a file</source>
        <translation>选择文件</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>On</source>
        <translation>开</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>关</translation>
    </message>
    <message>
        <source>Keep to one node</source>
        <translation>限于一个节点</translation>
    </message>
    <message>
        <source>Spread over all nodes</source>
        <translation>分布到所有节点</translation>
    </message>
    <message>
        <source>With a draft model</source>
        <translation>使用草稿模型</translation>
    </message>
    <message>
        <source>From the text so far</source>
        <translation>根据已有文本</translation>
    </message>
    <message>
        <source>From the text so far, shared table</source>
        <translation>根据已有文本（共享表）</translation>
    </message>
    <message>
        <source>By the model’s own extra layer (MTP)</source>
        <translation>由模型自带的附加层（MTP）</translation>
    </message>
    <message>
        <source>images</source>
        <translation>图片</translation>
    </message>
    <message>
        <source>own template</source>
        <translation>自选模板</translation>
    </message>
    <message>
        <source>LoRA</source>
        <translation>LoRA</translation>
    </message>
    <message>
        <source>guesses ahead</source>
        <translation>提前推测</translation>
    </message>
    <message>
        <source>Engine options</source>
        <translation>引擎选项</translation>
    </message>
</context>
<context>
    <name>PlacementBox</name>
    <message>
        <source>{count} of {total}</source>
        <translation>{count} / {total}</translation>
    </message>
    <message>
        <source>Placement</source>
        <translation>分配方式</translation>
    </message>
    <message>
        <source>Auto</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Manual</source>
        <translation>手动</translation>
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
        <source>Set by the planner; move to take over.</source>
        <translation>由规划器设置；拖动即可接管。</translation>
    </message>
    <message>
        <source>Set by you; nothing moves by itself.</source>
        <translation>由您设置；不会自行改动。</translation>
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
        <source>CUDA_VISIBLE_DEVICES hides the GPUs: everything runs from RAM.</source>
        <translation>CUDA_VISIBLE_DEVICES 隐藏了 GPU：全部在内存中运行。</translation>
    </message>
    <message>
        <source>This machine has no GPU that is known here: everything runs from RAM.</source>
        <translation>本机没有可用的 GPU，全部在内存中运行。</translation>
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
        <source>{size} short</source>
        <translation>缺 {size}</translation>
    </message>
    <message>
        <source>Disk-bound</source>
        <translation>受限于磁盘</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>可容纳</translation>
    </message>
    <message>
        <source>Tight</source>
        <translation>偏紧</translation>
    </message>
</context>
<context>
    <name>RateView</name>
    <message>
        <source>likely {low} – {high}</source>
        <translation>可能 {low} – {high}</translation>
    </message>
    <message>
        <source>scale 0 – {top}</source>
        <translation>刻度 0 – {top}</translation>
    </message>
</context>
<context>
    <name>ServedSide</name>
    <message>
        <source>Running with this plan</source>
        <translation>正按此方案运行</translation>
    </message>
    <message>
        <source>Start with this plan</source>
        <translation>按此方案启动</translation>
    </message>
</context>
<context>
    <name>SpeedView</name>
    <message>
        <source>Decode</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>Load time</source>
        <translation>加载时间</translation>
    </message>
    <message>
        <source> for a {size} prompt</source>
        <translation>（{size} 提示词）</translation>
    </message>
    <message>
        <source>{time} for {size} tokens</source>
        <translation>{size} 词元 {time}</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>首字延迟</translation>
    </message>
</context>
<context>
    <name>SplitField</name>
    <message>
        <source>Automatic ({value})</source>
        <translation>自动（{value}）</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>Layers per GPU</source>
        <translation>各 GPU 的层数</translation>
    </message>
    <message>
        <source>GPU 0 to {last}, in shares; 0 leaves one out.</source>
        <translation>GPU 0 至 {last} 的份额；0 表示不使用该卡。</translation>
    </message>
    <message>
        <source>Up to {count} numbers, one for each GPU, or empty.</source>
        <translation>最多 {count} 个数字，每张 GPU 一个；或留空。</translation>
    </message>
</context>
<context>
    <name>TimeView</name>
    <message>
        <source>likely {low} – {high}</source>
        <translation>可能 {low} – {high}</translation>
    </message>
</context>
</TS>
