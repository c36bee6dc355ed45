<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>CurvePlot</name>
    <message>
        <source>logarithmic axis</source>
        <translation>对数坐标</translation>
    </message>
</context>
<context>
    <name>ExperimentsView</name>
    <message>
        <source>What to change</source>
        <translation>改变什么</translation>
    </message>
    <message>
        <source>Values, with commas between them</source>
        <translation>取值，用逗号分隔</translation>
    </message>
    <message>
        <source>Measure</source>
        <translation>测量</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>beside</source>
        <translation>对比</translation>
    </message>
    <message>
        <source>Experiment</source>
        <translation>实验</translation>
    </message>
    <message>
        <source>Compare with</source>
        <translation>与之对比</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>线程数</translation>
    </message>
    <message>
        <source>Micro-batch</source>
        <translation>微批次</translation>
    </message>
    <message>
        <source>KV type</source>
        <translation>KV 类型</translation>
    </message>
    <message>
        <source>Expert layers in RAM</source>
        <translation>内存中的专家层</translation>
    </message>
    <message>
        <source>Layers on GPU</source>
        <translation>GPU 层数</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Users at once</source>
        <translation>同时用户数</translation>
    </message>
    <message>
        <source>Choose a model first.</source>
        <translation>请先选择模型。</translation>
    </message>
    <message>
        <source>Type at least one value.</source>
        <translation>请至少输入一个取值。</translation>
    </message>
    <message>
        <source>Measuring {name} {value}: the engine starts with each value in turn.</source>
        <translation>正在测量{name} {value}：引擎依次以每个取值启动。</translation>
    </message>
    <message>
        <source>Measuring {name}: {value}.</source>
        <translation>正在测量{name}：{value}。</translation>
    </message>
    <message>
        <source>Each value gets a prompt of about 512 tokens and an answer of 64. Afterwards the engine is as it was before.</source>
        <translation>每个取值使用约 512 词元的提示词和 64 词元的回答。结束后引擎恢复原状。</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>无</translation>
    </message>
    <message>
        <source>Together, tok/s</source>
        <translation>合计，词元/秒</translation>
    </message>
    <message>
        <source>Per user, tok/s</source>
        <translation>每用户，词元/秒</translation>
    </message>
    <message>
        <source>First token (median), s</source>
        <translation>首字延迟（中位数），秒</translation>
    </message>
    <message>
        <source>Decode, tok/s</source>
        <translation>解码，词元/秒</translation>
    </message>
    <message>
        <source>Prefill, tok/s</source>
        <translation>预填充，词元/秒</translation>
    </message>
</context>
<context>
    <name>FiguresTable</name>
    <message>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>Decode</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>首字延迟</translation>
    </message>
    <message>
        <source>Load</source>
        <translation>加载</translation>
    </message>
    <message>
        <source>Together</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>Per user</source>
        <translation>每用户</translation>
    </message>
</context>
<context>
    <name>GraphBoard</name>
    <message>
        <source>Graphs</source>
        <translation>曲线图</translation>
    </message>
    <message>
        <source>The left and right arrow keys read the graphs, Home and End go to the ends.</source>
        <translation>用左右方向键读取数值，Home 和 End 跳到两端。</translation>
    </message>
    <message>
        <source>No sample</source>
        <translation>无数据</translation>
    </message>
</context>
<context>
    <name>Graphs</name>
    <message>
        <source>No GPU driver was found, so the engine computes on the CPU: its load and memory stand here instead.</source>
        <translation>未找到 GPU 驱动，引擎在 CPU 上运行，因此这里显示 CPU 负载和引擎占用的内存。</translation>
    </message>
    <message>
        <source>This machine has no GPU that the engine can use, so it computes on the CPU: its load and memory stand here instead.</source>
        <translation>本机没有引擎可用的 GPU，引擎在 CPU 上运行，因此这里显示 CPU 负载和引擎占用的内存。</translation>
    </message>
    <message>
        <source>CUDA_VISIBLE_DEVICES hides the GPUs, so the engine computes on the CPU: its load and memory stand here instead.</source>
        <translation>CUDA_VISIBLE_DEVICES 隐藏了 GPU，引擎使用 CPU 计算：这里显示其负载和内存。</translation>
    </message>
    <message>
        <source>The GPU shares the main memory and its driver does not report its load: what the engine holds and the CPU&apos;s load stand here.</source>
        <translation>GPU 与系统共用内存，驱动也不提供其负载，因此这里显示引擎占用的内存和 CPU 负载。</translation>
    </message>
    <message>
        <source>The GPU driver does not answer, so nothing can be drawn of the GPU. Look at the machine again in Settings.</source>
        <translation>GPU 驱动没有响应，无法绘制 GPU 数据。请在设置中重新检测本机。</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Page cache</source>
        <translation>页缓存</translation>
    </message>
    <message>
        <source>Swap</source>
        <translation>交换空间</translation>
    </message>
    <message>
        <source>Engine memory</source>
        <translation>引擎内存</translation>
    </message>
    <message>
        <source>Disk read</source>
        <translation>磁盘读取</translation>
    </message>
    <message>
        <source>CPU load</source>
        <translation>CPU 负载</translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <source>{count} cores</source>
        <translation>{count} 核</translation>
    </message>
    <message>
        <source>Decode</source>
        <translation>解码</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>词元/秒</translation>
    </message>
    <message>
        <source>Nothing was generated in this time.</source>
        <translation>这段时间内没有生成内容。</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>已用</translation>
    </message>
    <message>
        <source>Total</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>Private</source>
        <translation>私有</translation>
    </message>
    <message>
        <source>Without the pages of the model&apos;s file</source>
        <translation>不含模型文件映射的页面</translation>
    </message>
    <message>
        <source>{running} running, {waiting} waiting</source>
        <translation>{running} 个运行中，{waiting} 个等待</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <source>Prefix cache hits</source>
        <translation>前缀缓存命中</translation>
    </message>
    <message>
        <source>Prompts, all requests</source>
        <translation>提示词（全部请求）</translation>
    </message>
    <message>
        <source>Answers, all requests</source>
        <translation>回答（全部请求）</translation>
    </message>
    <message>
        <source>Files that the system keeps in memory</source>
        <translation>系统保留在内存中的文件</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>1 core</source>
        <translation>1 核</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>No engine ran in this time.</source>
        <translation>这段时间内没有引擎在运行。</translation>
    </message>
    <message>
        <source>This system does not report it.</source>
        <translation>系统不提供此数据。</translation>
    </message>
    <message>
        <source>The driver does not report it.</source>
        <translation>驱动不提供此数据。</translation>
    </message>
    <message>
        <source>{size} each</source>
        <translation>各 {size}</translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation>显存</translation>
    </message>
    <message>
        <source>PCIe to GPU</source>
        <translation>PCIe 到 GPU</translation>
    </message>
    <message>
        <source>GPU load</source>
        <translation>GPU 负载</translation>
    </message>
    <message>
        <source>limit {watts} W</source>
        <translation>上限 {watts} W</translation>
    </message>
    <message>
        <source>GPU power</source>
        <translation>GPU 功耗</translation>
    </message>
</context>
<context>
    <name>MonitorPage</name>
    <message>
        <source>Monitor</source>
        <translation>监控</translation>
    </message>
    <message>
        <source>View</source>
        <translation>视图</translation>
    </message>
    <message>
        <source>Live</source>
        <translation>实时</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>运行记录</translation>
    </message>
    <message>
        <source>Experiments</source>
        <translation>实验</translation>
    </message>
    <message>
        <source>Time shown</source>
        <translation>显示的时段</translation>
    </message>
    <message>
        <source>5 min</source>
        <translation>5 分钟</translation>
    </message>
    <message>
        <source>1 h</source>
        <translation>1 小时</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>本次运行</translation>
    </message>
    <message>
        <source>Export CSV</source>
        <translation>导出 CSV</translation>
    </message>
    <message>
        <source>All runs</source>
        <translation>全部运行</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Choose another place</source>
        <translation>另选位置</translation>
    </message>
    <message>
        <source>The first sample arrives within a second.</source>
        <translation>第一份数据将在一秒内到达。</translation>
    </message>
    <message>
        <source>No samples of this run were kept.</source>
        <translation>没有保留这次运行的采样。</translation>
    </message>
    <message>
        <source>These settings are of another version.</source>
        <translation>这些设置来自其他版本。</translation>
    </message>
    <message>
        <source>{model} starts with these settings from now on.</source>
        <translation>{model} 今后将以这些设置启动。</translation>
    </message>
    <message>
        <source>{model} is planned by itself again.</source>
        <translation>{model} 已恢复自动规划。</translation>
    </message>
    <message>
        <source>Export the samples</source>
        <translation>导出采样</translation>
    </message>
    <message>
        <source>The samples are saved.</source>
        <translation>采样已保存。</translation>
    </message>
    <message>
        <source>Table (*.csv)</source>
        <translation>表格 (*.csv)</translation>
    </message>
    <message>
        <source>Engine: {state}</source>
        <translation>引擎：{state}</translation>
    </message>
    <message>
        <source>{running} running · {waiting} waiting</source>
        <translation>{running} 个进行中 · {waiting} 个等待</translation>
    </message>
</context>
<context>
    <name>PhaseStrip</name>
    <message>
        <source>Idle</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>Load</source>
        <translation>加载</translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>Decode</source>
        <translation>解码</translation>
    </message>
</context>
<context>
    <name>RunFailure</name>
    <message>
        <source>What was seen</source>
        <translation>当时的情况</translation>
    </message>
    <message>
        <source>Evidence, line {number} of the engine&apos;s log</source>
        <translation>依据：引擎日志第 {number} 行</translation>
    </message>
    <message>
        <source>Evidence: facts of that time</source>
        <translation>依据：当时的事实</translation>
    </message>
    <message>
        <source>Evidence: the end of the engine&apos;s log</source>
        <translation>依据：引擎日志的末尾</translation>
    </message>
    <message>
        <source>Start it once more</source>
        <translation>再次启动</translation>
    </message>
    <message>
        <source>With the settings of this run.</source>
        <translation>使用这次运行的设置。</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>Diagnostics copied. Keys, names and home folders are removed.</source>
        <translation>诊断信息已复制。密钥、用户名和主目录已去除。</translation>
    </message>
</context>
<context>
    <name>RunRow</name>
    <message>
        <source>load</source>
        <translation>加载</translation>
    </message>
    <message>
        <source>Compare {run}</source>
        <translation>比较 {run}</translation>
    </message>
    <message>
        <source>Starred: its settings are the model&apos;s own</source>
        <translation>已加星标：其设置为该模型的默认设置</translation>
    </message>
    <message>
        <source>Star it: keep it, and start the model with these settings</source>
        <translation>加星标：保留此记录，并以这些设置启动模型</translation>
    </message>
    <message>
        <source>Note on {run}</source>
        <translation>{run} 的备注</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>备注</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>Why {run} failed, was slow or wrote nonsense</source>
        <translation>{run} 为何失败、变慢或胡言乱语</translation>
    </message>
    <message>
        <source>Graphs of {run}</source>
        <translation>{run} 的曲线</translation>
    </message>
    <message>
        <source>Forget {run}</source>
        <translation>删除 {run}</translation>
    </message>
</context>
<context>
    <name>RunWords</name>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>The app ended in the middle</source>
        <translation>应用中途退出</translation>
    </message>
    <message>
        <source>The engine failed.</source>
        <translation>引擎失败。</translation>
    </message>
    <message>
        <source>Slower than forecast</source>
        <translation>比预测慢</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Layers on GPU</source>
        <translation>GPU 层数</translation>
    </message>
    <message>
        <source>Expert layers in RAM</source>
        <translation>内存中的专家层</translation>
    </message>
    <message>
        <source>KV type</source>
        <translation>KV 类型</translation>
    </message>
    <message>
        <source>Micro-batch</source>
        <translation>微批次</translation>
    </message>
    <message>
        <source>Batch</source>
        <translation>批次</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>线程数</translation>
    </message>
    <message>
        <source>Slots</source>
        <translation>槽位</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>automatic</source>
        <translation>自动</translation>
    </message>
    <message>
        <source>on</source>
        <translation>开</translation>
    </message>
    <message>
        <source>off</source>
        <translation>关</translation>
    </message>
    <message>
        <source>context {size}</source>
        <translation>上下文 {size}</translation>
    </message>
    <message>
        <source>1 layer on GPU</source>
        <translation>GPU 1 层</translation>
    </message>
    <message>
        <source>{count} layers on GPU</source>
        <translation>GPU {count} 层</translation>
    </message>
    <message>
        <source>1 expert layer in RAM</source>
        <translation>1 层专家在内存中</translation>
    </message>
    <message>
        <source>{count} expert layers in RAM</source>
        <translation>内存中 {count} 个专家层</translation>
    </message>
    <message>
        <source>{count} slots</source>
        <translation>{count} 个槽位</translation>
    </message>
    <message>
        <source>1 slot</source>
        <translation>1 个槽位</translation>
    </message>
    <message>
        <source>forecast {low} – {high}</source>
        <translation>预测 {low} – {high}</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
</context>
<context>
    <name>RunsView</name>
    <message>
        <source>Every start of a model is noted here, with what was forecast and measured.</source>
        <translation>每次启动模型都会记录在此，包括预测值和实测值。</translation>
    </message>
    <message>
        <source>What was kept is of another version.</source>
        <translation>保存的信息来自其他版本。</translation>
    </message>
</context>
<context>
    <name>_Compare</name>
    <message>
        <source>What changed, and what it did</source>
        <translation>变更及其影响</translation>
    </message>
    <message>
        <source>Decode</source>
        <translation>生成</translation>
    </message>
    <message>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>首字延迟</translation>
    </message>
    <message>
        <source>Load</source>
        <translation>加载</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存占用</translation>
    </message>
</context>
</TS>
