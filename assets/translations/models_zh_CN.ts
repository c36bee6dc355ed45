<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>CancelSheet</name>
    <message>
        <source>Cancel the download of {name}?</source>
        <translation>取消下载 {name}？</translation>
    </message>
    <message>
        <source>{size} are here. Kept, they count when it is started again; files that are whole and verified stay in the library either way.</source>
        <translation>已下载 {size}。保留后，再次下载时会接着用；已完整并通过校验的文件始终留在模型库中。</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>继续下载</translation>
    </message>
    <message>
        <source>Cancel, keep {size}</source>
        <translation>取消，保留 {size}</translation>
    </message>
    <message>
        <source>Cancel and delete</source>
        <translation>取消并删除</translation>
    </message>
</context>
<context>
    <name>DetailsPane</name>
    <message>
        <source>Open in Plan</source>
        <translation>在规划页打开</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Verify again</source>
        <translation>重新校验</translation>
    </message>
    <message>
        <source>See the newer version…</source>
        <translation>查看新版本…</translation>
    </message>
    <message>
        <source>Move…</source>
        <translation>移动…</translation>
    </message>
    <message>
        <source>Move to another folder</source>
        <translation>移动到其他文件夹</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>删除…</translation>
    </message>
    <message>
        <source>Comes with</source>
        <translation>附带文件</translation>
    </message>
    <message>
        <source>Path</source>
        <translation>路径</translation>
    </message>
    <message>
        <source>demo, a base model</source>
        <translation>演示用，基座模型</translation>
    </message>
    <message>
        <source>A newer version exists: commit {there}; here is {here}.</source>
        <translation>有新版本：提交 {there}；本机为 {here}。</translation>
    </message>
    <message>
        <source>Chat with it</source>
        <translation>与它对话</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>File size</source>
        <translation>文件大小</translation>
    </message>
    <message>
        <source>{count} of {total}</source>
        <translation>{count} / {total}</translation>
    </message>
    <message>
        <source>Parts</source>
        <translation>分片</translation>
    </message>
    <message>
        <source>Verified</source>
        <translation>校验时间</translation>
    </message>
    <message>
        <source>not yet</source>
        <translation>尚未校验</translation>
    </message>
    <message>
        <source>{when}, against nothing but itself</source>
        <translation>{when}，仅与自身比对</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>参数量</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>架构</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>{count}, {used} per token</source>
        <translation>{count} 个，每词元激活 {used} 个</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>专家</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 词元</translation>
    </message>
    <message>
        <source>Trained context</source>
        <translation>训练上下文</translation>
    </message>
    <message>
        <source>{count} bytes per token</source>
        <translation>每词元 {count} 字节</translation>
    </message>
    <message>
        <source>KV cache (f16)</source>
        <translation>KV 缓存（f16）</translation>
    </message>
    <message>
        <source>in the file</source>
        <translation>文件自带</translation>
    </message>
    <message>
        <source>none in the file</source>
        <translation>文件中没有</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>对话模板</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>支持</translation>
    </message>
    <message>
        <source>no</source>
        <translation>不支持</translation>
    </message>
</context>
<context>
    <name>DetailsSheet</name>
    <message>
        <source>Revision {commit}</source>
        <translation>版本 {commit}</translation>
    </message>
    <message>
        <source>Licence {licence}</source>
        <translation>许可协议 {licence}</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>DiscoverDetails</name>
    <message>
        <source>Download…</source>
        <translation>下载…</translation>
    </message>
    <message>
        <source>Plan by its header</source>
        <translation>读取文件头并规划</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Copy its name</source>
        <translation>复制名称</translation>
    </message>
    <message>
        <source>Estimate by size</source>
        <translation>按大小估算</translation>
    </message>
    <message>
        <source>By its header</source>
        <translation>依据文件头</translation>
    </message>
    <message>
        <source>Reading the header of {name}: a few megabytes, not the model.</source>
        <translation>正在读取 {name} 的文件头：只需几 MB，不会下载模型。</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>GPU {number}</source>
        <translation>GPU {number}</translation>
    </message>
    <message>
        <source>{device}: {used} of {total}</source>
        <translation>{device}：{used} / {total}</translation>
    </message>
    <message>
        <source>Size: {size}</source>
        <translation>大小：{size}</translation>
    </message>
    <message>
        <source>Parts: {count}</source>
        <translation>分片：{count} 个</translation>
    </message>
    <message>
        <source>Quality: {word}</source>
        <translation>质量：{word}</translation>
    </message>
    <message>
        <source>Repository: {name}</source>
        <translation>仓库：{name}</translation>
    </message>
    <message>
        <source>Licence: {name}</source>
        <translation>许可证：{name}</translation>
    </message>
    <message>
        <source>(not confirmed)</source>
        <translation>（未经确认）</translation>
    </message>
</context>
<context>
    <name>DiscoverView</name>
    <message>
        <source>Search Hugging Face, or paste a model’s name or address</source>
        <translation>搜索 Hugging Face，或粘贴模型的名称或地址</translation>
    </message>
    <message>
        <source>Search for models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Kimi family</source>
        <translation>Kimi 系列</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
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
        <source>Asking the hub for “{words}”</source>
        <translation>正在模型平台上查找“{words}”</translation>
    </message>
    <message>
        <source>Nothing with GGUF files is called “{words}”.</source>
        <translation>没有找到名为“{words}”且含 GGUF 文件的仓库。</translation>
    </message>
    <message>
        <source>This machine is being looked at; then its models come.</source>
        <translation>正在检测本机，随后显示适合的模型。</translation>
    </message>
    <message>
        <source>One repository for “{words}”. Choose it to see its files.</source>
        <translation>“{words}”有 1 个仓库，选择它可查看其文件。</translation>
    </message>
    <message>
        <source>{count} repositories for “{words}”. Choose one to see its files.</source>
        <translation>“{words}”有 {count} 个仓库，选择一个可查看其文件。</translation>
    </message>
    <message>
        <source>The Kimi family, the most useful here first. Estimates for a context of 32K tokens; a file’s header makes them exact.</source>
        <translation>Kimi 系列，最适合本机的排在前面。数字按 32K 词元上下文估算，读取文件头后即为精确值。</translation>
    </message>
</context>
<context>
    <name>DiskBar</name>
    <message>
        <source>Models disk</source>
        <translation>模型磁盘</translation>
    </message>
    <message>
        <source>{size} free now</source>
        <translation>当前剩余 {size}</translation>
    </message>
    <message>
        <source>{size} too little for all downloads</source>
        <translation>全部下载还差 {size}</translation>
    </message>
    <message>
        <source>{size} after all downloads</source>
        <translation>全部下载后剩余 {size}</translation>
    </message>
    <message>
        <source>Other files</source>
        <translation>其他文件</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Still to come</source>
        <translation>待下载</translation>
    </message>
    <message>
        <source>Free</source>
        <translation>剩余</translation>
    </message>
</context>
<context>
    <name>DownloadRow</name>
    <message>
        <source>More about {name}</source>
        <translation>{name} 的更多操作</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>Measure the sources again</source>
        <translation>重新测速</translation>
    </message>
    <message>
        <source>Files and details…</source>
        <translation>文件与详情…</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Copy name</source>
        <translation>复制名称</translation>
    </message>
    <message>
        <source>Start now</source>
        <translation>立即开始</translation>
    </message>
    <message>
        <source>Fetch this version all the same</source>
        <translation>仍然下载此版本</translation>
    </message>
    <message>
        <source>Take off the list</source>
        <translation>从列表中移除</translation>
    </message>
    <message>
        <source>Cancel…</source>
        <translation>取消…</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Try now</source>
        <translation>立即重试</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Retry {size}</source>
        <translation>重试 {size}</translation>
    </message>
    <message>
        <source>Measuring…</source>
        <translation>正在测速…</translation>
    </message>
    <message>
        <source>Keep what is there</source>
        <translation>保留现有版本</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
</context>
<context>
    <name>Downloads</name>
    <message>
        <source>{state}, {time}</source>
        <translation>{state}，{time}</translation>
    </message>
</context>
<context>
    <name>DownloadsView</name>
    <message>
        <source>Queue</source>
        <translation>队列</translation>
    </message>
    <message>
        <source>Finished</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Nothing is being downloaded. Every byte of what comes is proven.</source>
        <translation>没有正在进行的下载。下载的每个字节都会校验。</translation>
    </message>
    <message>
        <source>See what this machine can run</source>
        <translation>看看本机能运行什么</translation>
    </message>
    <message>
        <source>Queued, next</source>
        <translation>排队中，下一个</translation>
    </message>
    <message>
        <source>one download</source>
        <translation>1 个下载</translation>
    </message>
    <message>
        <source>{count} downloads</source>
        <translation>{count} 个下载</translation>
    </message>
    <message>
        <source>starts when {name} is done</source>
        <translation>{name} 完成后开始</translation>
    </message>
    <message>
        <source>none</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Speed limit: {limit}</source>
        <translation>限速：{limit}</translation>
    </message>
    <message>
        <source>Speed limit of all downloads</source>
        <translation>所有下载的限速</translation>
    </message>
</context>
<context>
    <name>DropVeil</name>
    <message>
        <source>Drop to add the folder to the library</source>
        <translation>松开即可把该文件夹加入模型库</translation>
    </message>
</context>
<context>
    <name>FileRow</name>
    <message>
        <source>suits this machine best</source>
        <translation>最适合本机</translation>
    </message>
</context>
<context>
    <name>FolderList</name>
    <message>
        <source>Folders</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>not there: is its drive connected?</source>
        <translation>不存在：磁盘是否已连接？</translation>
    </message>
    <message>
        <source>no models found</source>
        <translation>未发现模型</translation>
    </message>
    <message>
        <source>{count} models, {size}</source>
        <translation>{count} 个模型，{size}</translation>
    </message>
    <message>
        <source>One model, {size}</source>
        <translation>1 个模型，{size}</translation>
    </message>
</context>
<context>
    <name>ImportActions</name>
    <message>
        <source>Importing {name}: {size} are read and proven, nothing is copied</source>
        <translation>正在导入 {name}：读取并校验 {size}，不复制数据</translation>
    </message>
    <message>
        <source>Importing {count} models: {size} are read and proven, nothing is copied</source>
        <translation>正在导入 {count} 个模型：读取并校验 {size}，不复制数据</translation>
    </message>
    <message>
        <source>Imported, nothing copied</source>
        <translation>已导入，未复制任何数据</translation>
    </message>
    <message>
        <source>Imported, but {bad} of {count} models have a problem</source>
        <translation>已导入，但 {count} 个模型中有 {bad} 个存在问题</translation>
    </message>
    <message>
        <source>Its files share their blocks with the originals.</source>
        <translation>文件与原文件共享磁盘块。</translation>
    </message>
    <message>
        <source>Its files are second names of the originals.</source>
        <translation>文件是原文件的另一个名称（硬链接）。</translation>
    </message>
    <message>
        <source>Its files point to the originals: gone when the other program removes them.</source>
        <translation>文件指向原文件（符号链接）：原程序删除后将失效。</translation>
    </message>
</context>
<context>
    <name>ImportSheet</name>
    <message>
        <source>Import what is already here</source>
        <translation>导入本机已有的模型</translation>
    </message>
    <message>
        <source>Every file is read and proven by its hash, then linked: nothing is copied, and the other program keeps it.</source>
        <translation>每个文件都会读取并按哈希值校验，然后建立链接：不复制数据，原程序仍保有它。</translation>
    </message>
    <message>
        <source>Choose a folder…</source>
        <translation>选择文件夹…</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Looking at the places of Hugging Face, ModelScope, LM Studio, Jan, Ollama</source>
        <translation>正在查看 Hugging Face、ModelScope、LM Studio、Jan、Ollama 的存放位置</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>导入</translation>
    </message>
    <message>
        <source>Import {count}, {size}</source>
        <translation>导入 {count} 个（{size}）</translation>
    </message>
    <message>
        <source>Import from which folder?</source>
        <translation>从哪个文件夹导入？</translation>
    </message>
</context>
<context>
    <name>LibraryTable</name>
    <message>
        <source>Chat with it</source>
        <translation>与它对话</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>Open in Plan</source>
        <translation>在规划页打开</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Verify again</source>
        <translation>重新校验</translation>
    </message>
    <message>
        <source>Look for newer versions</source>
        <translation>检查新版本</translation>
    </message>
    <message>
        <source>Move to another folder…</source>
        <translation>移动到其他文件夹…</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>删除…</translation>
    </message>
    <message>
        <source>Sort by</source>
        <translation>排序方式</translation>
    </message>
</context>
<context>
    <name>LibraryTableModel</name>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Quantization</source>
        <translation>量化</translation>
    </message>
    <message>
        <source>Parts</source>
        <translation>分片</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>架构</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Verified</source>
        <translation>校验时间</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>{count} of {total} parts</source>
        <translation>分片 {count} / {total}</translation>
    </message>
    <message>
        <source>verified {day}</source>
        <translation>{day}校验</translation>
    </message>
</context>
<context>
    <name>LibraryView</name>
    <message>
        <source>Filter</source>
        <translation>筛选</translation>
    </message>
    <message>
        <source>Filter the library</source>
        <translation>筛选模型库</translation>
    </message>
    <message>
        <source>Read the folders again</source>
        <translation>重新读取文件夹</translation>
    </message>
    <message>
        <source>Add a folder…</source>
        <translation>添加文件夹…</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Enter starts the model, the menu key has more</source>
        <translation>按 Enter 启动模型，按菜单键查看更多操作</translation>
    </message>
    <message>
        <source>Looking through the folders for models</source>
        <translation>正在文件夹中查找模型</translation>
    </message>
    <message>
        <source>No model yet. Add a folder that holds models, or drop one here.</source>
        <translation>还没有模型。请添加含有模型的文件夹，或将其拖放到此处。</translation>
    </message>
    <message>
        <source>No model matches “{words}”.</source>
        <translation>没有与“{words}”匹配的模型。</translation>
    </message>
    <message>
        <source>Clear the filter</source>
        <translation>清除筛选</translation>
    </message>
</context>
<context>
    <name>ModelCard</name>
    <message>
        <source>{count} active</source>
        <translation>激活 {count}</translation>
    </message>
    <message>
        <source>context {size}</source>
        <translation>上下文 {size}</translation>
    </message>
    <message>
        <source>sees images</source>
        <translation>支持图像</translation>
    </message>
    <message>
        <source>No forecast</source>
        <translation>暂无预测</translation>
    </message>
    <message>
        <source>No GGUF file is known yet; search the hub for one.</source>
        <translation>目前不知道它的 GGUF 文件，可在模型平台上搜索。</translation>
    </message>
    <message>
        <source>open</source>
        <translation>已展开</translation>
    </message>
    <message>
        <source>closed</source>
        <translation>已折叠</translation>
    </message>
</context>
<context>
    <name>ModelChats</name>
    <message>
        <source>Used in {count} chats</source>
        <translation>用于 {count} 个对话</translation>
    </message>
    <message>
        <source>Used in one chat</source>
        <translation>用于 1 个对话</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>还有 {count} 个</translation>
    </message>
</context>
<context>
    <name>ModelRow</name>
    <message>
        <source>Running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>加载中</translation>
    </message>
    <message>
        <source>Altered</source>
        <translation>内容有误</translation>
    </message>
    <message>
        <source>Changed</source>
        <translation>已变动</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就绪</translation>
    </message>
    <message>
        <source>Incomplete</source>
        <translation>不完整</translation>
    </message>
    <message>
        <source>Damaged</source>
        <translation>已损坏</translation>
    </message>
    <message>
        <source>Companion</source>
        <translation>附属文件</translation>
    </message>
    <message>
        <source>Projector</source>
        <translation>投影器</translation>
    </message>
    <message>
        <source>imatrix</source>
        <translation>重要性矩阵</translation>
    </message>
    <message>
        <source>newer version</source>
        <translation>有新版本</translation>
    </message>
    <message>
        <source>for vLLM, SGLang</source>
        <translation>用于 vLLM、SGLang</translation>
    </message>
    <message>
        <source>with projector</source>
        <translation>含投影器</translation>
    </message>
    <message>
        <source>Adapter</source>
        <translation>适配器</translation>
    </message>
    <message>
        <source>Missing</source>
        <translation>未连接</translation>
    </message>
    <message>
        <source>Vocabulary</source>
        <translation>词表</translation>
    </message>
    <message>
        <source>The part of a model that sees images or hears sound.</source>
        <translation>模型中负责看图或听声音的部分。</translation>
    </message>
    <message>
        <source>Changes how a model answers; no model of its own.</source>
        <translation>用来改变模型的回答方式，本身不是模型。</translation>
    </message>
    <message>
        <source>Needed to make quantizations, not to run a model.</source>
        <translation>用于制作量化，运行模型时不需要。</translation>
    </message>
    <message>
        <source>A tokenizer without weights.</source>
        <translation>只有分词器，没有权重。</translation>
    </message>
    <message>
        <source>demo</source>
        <translation>演示</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>导入…</translation>
    </message>
    <message>
        <source>Take in what Hugging Face, LM Studio, Jan, Ollama or ModelScope have here</source>
        <translation>导入 Hugging Face、LM Studio、Jan、Ollama 或 ModelScope 在本机已有的模型</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Discover</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>{path} is in the library already; it is read again.</source>
        <translation>{path} 已在模型库中，正在重新读取。</translation>
    </message>
    <message>
        <source>{name} goes with a model; it is not started by itself.</source>
        <translation>{name} 是模型的附属文件，不能单独启动。</translation>
    </message>
    <message>
        <source>Models with a newer version: {count}.</source>
        <translation>有新版本的模型：{count} 个。</translation>
    </message>
    <message>
        <source>There is no newer version of the models whose origin is known.</source>
        <translation>来源已知的模型都没有新版本。</translation>
    </message>
    <message>
        <source>This system has no file manager that opens {path}.</source>
        <translation>系统中没有可打开 {path} 的文件管理器。</translation>
    </message>
    <message>
        <source>Copied: {path}</source>
        <translation>已复制：{path}</translation>
    </message>
    <message>
        <source>Folder with models</source>
        <translation>存放模型的文件夹</translation>
    </message>
    <message>
        <source>Looking for models</source>
        <translation>正在查找模型</translation>
    </message>
    <message>
        <source>Looking through {count} folders for models</source>
        <translation>正在 {count} 个文件夹中查找模型</translation>
    </message>
    <message>
        <source>One model, {size}</source>
        <translation>1 个模型，{size}</translation>
    </message>
    <message>
        <source>{done} of {total} models read</source>
        <translation>已读取 {done} / {total} 个模型</translation>
    </message>
    <message>
        <source>{name} is ready.</source>
        <translation>{name} 已就绪。</translation>
    </message>
    <message>
        <source>{count} models, {size}</source>
        <translation>{count} 个模型，{size}</translation>
    </message>
</context>
<context>
    <name>MoveSheet</name>
    <message>
        <source>Move {name}, {size}</source>
        <translation>移动 {name}（{size}）</translation>
    </message>
    <message>
        <source>Every file is copied, read back from the new drive and compared by SHA-256. Only then the old files are removed.</source>
        <translation>每个文件都会复制到新磁盘，再读回并以 SHA-256 校验，全部一致后才删除原文件。</translation>
    </message>
    <message>
        <source>Another folder…</source>
        <translation>其他文件夹…</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Move</source>
        <translation>移动</translation>
    </message>
    <message>
        <source>{size} free</source>
        <translation>剩余 {size}</translation>
    </message>
    <message>
        <source>Cannot be written.</source>
        <translation>无法写入。</translation>
    </message>
    <message>
        <source>On the same drive: done at once, nothing is copied.</source>
        <translation>在同一磁盘上：立即完成，无需复制。</translation>
    </message>
    <message>
        <source>Not enough space for this model.</source>
        <translation>空间不足，放不下该模型。</translation>
    </message>
    <message>
        <source>On another drive.</source>
        <translation>在另一块磁盘上。</translation>
    </message>
    <message>
        <source>Move to which folder?</source>
        <translation>移动到哪个文件夹？</translation>
    </message>
</context>
<context>
    <name>OfferCard</name>
    <message>
        <source>Checking every byte (SHA-256)</source>
        <translation>正在逐字节校验（SHA-256）</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>Offers</name>
    <message>
        <source>Demo model: Gemma 3 270M</source>
        <translation>演示模型：Gemma 3 270M</translation>
    </message>
    <message>
        <source>Comes with the app, 253 MB. A base model: it continues text and is no assistant.</source>
        <translation>随应用提供，253 MB。这是基座模型：只会续写文本，不是助手。</translation>
    </message>
    <message>
        <source>Install</source>
        <translation>安装</translation>
    </message>
    <message>
        <source>Putting the demo model together</source>
        <translation>正在拼装演示模型</translation>
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
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Downloading the small chat model</source>
        <translation>正在下载小型对话模型</translation>
    </message>
</context>
<context>
    <name>QueueRow</name>
    <message>
        <source>Move {name} up</source>
        <translation>上移 {name}</translation>
    </message>
    <message>
        <source>Show {name} in the library</source>
        <translation>在模型库中显示 {name}</translation>
    </message>
    <message>
        <source>Cancel {name}</source>
        <translation>取消 {name}</translation>
    </message>
    <message>
        <source>More about {name}</source>
        <translation>{name} 的更多操作</translation>
    </message>
    <message>
        <source>Files and details…</source>
        <translation>文件与详情…</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Copy name</source>
        <translation>复制名称</translation>
    </message>
    <message>
        <source>Show in the library</source>
        <translation>在模型库中显示</translation>
    </message>
    <message>
        <source>Take off the list</source>
        <translation>从列表中移除</translation>
    </message>
    <message>
        <source>Start now</source>
        <translation>立即开始</translation>
    </message>
    <message>
        <source>Move up</source>
        <translation>上移</translation>
    </message>
    <message>
        <source>Move down</source>
        <translation>下移</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Cancel…</source>
        <translation>取消…</translation>
    </message>
</context>
<context>
    <name>RemoveSheet</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Delete {name} for good?</source>
        <translation>彻底删除 {name}？</translation>
    </message>
    <message>
        <source>Delete for good</source>
        <translation>彻底删除</translation>
    </message>
    <message>
        <source>Move {name} to the trash?</source>
        <translation>将 {name} 移到回收站？</translation>
    </message>
    <message>
        <source>Move to trash</source>
        <translation>移到回收站</translation>
    </message>
    <message>
        <source>Looking at its files</source>
        <translation>正在查看其文件</translation>
    </message>
    <message>
        <source>{names} goes with it.</source>
        <translation>{names} 会一并移除。</translation>
    </message>
    <message>
        <source>It answered in one chat, which stays.</source>
        <translation>它曾在 1 个对话中回答，该对话会保留。</translation>
    </message>
    <message>
        <source>It answered in {count} chats. They stay.</source>
        <translation>它曾在 {count} 个对话中回答，这些对话会保留。</translation>
    </message>
    <message>
        <source>One file, {size}.</source>
        <translation>1 个文件，{size}。</translation>
    </message>
    <message>
        <source>{count} files, {size}.</source>
        <translation>{count} 个文件，{size}。</translation>
    </message>
    <message>
        <source>It frees no space: another program has the same files under other names.</source>
        <translation>不会释放空间：其他程序以别的名称使用着同样的文件。</translation>
    </message>
    <message>
        <source>It frees {size}; the rest belongs to another program, too.</source>
        <translation>可释放 {size}；其余部分其他程序也在使用。</translation>
    </message>
    <message>
        <source>It frees {size} when the trash is emptied; the rest belongs to another program, too.</source>
        <translation>清空回收站后可释放 {size}；其余部分其他程序也在使用。</translation>
    </message>
    <message>
        <source>It frees {size} at once.</source>
        <translation>立即释放 {size}。</translation>
    </message>
    <message>
        <source>It frees {size} when the trash is emptied.</source>
        <translation>清空回收站后释放 {size}。</translation>
    </message>
</context>
<context>
    <name>ReportCard</name>
    <message>
        <source>and {count} more, in the copy</source>
        <translation>还有 {count} 项，见复制的内容</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
</context>
<context>
    <name>ResultRow</name>
    <message>
        <source>{count} downloads</source>
        <translation>{count} 次下载</translation>
    </message>
    <message>
        <source>one download</source>
        <translation>1 次下载</translation>
    </message>
    <message>
        <source>{count} likes</source>
        <translation>{count} 个赞</translation>
    </message>
    <message>
        <source>one like</source>
        <translation>1 个赞</translation>
    </message>
    <message>
        <source>terms to accept first</source>
        <translation>需先接受条款</translation>
    </message>
</context>
<context>
    <name>ServeSheet</name>
    <message>
        <source>Serve {name} with {engine}</source>
        <translation>用 {engine} 运行 {name}</translation>
    </message>
    <message>
        <source>Open on the Plan page</source>
        <translation>在规划页打开</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>启动</translation>
    </message>
</context>
<context>
    <name>ShelfActions</name>
    <message>
        <source>{name} is deleted; {size} are free again.</source>
        <translation>{name} 已删除，释放了 {size}。</translation>
    </message>
    <message>
        <source>{name} is in the trash.</source>
        <translation>{name} 已移到回收站。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>{name} is back.</source>
        <translation>{name} 已恢复。</translation>
    </message>
    <message>
        <source>Moving {name} to {folder}: copied, read back, compared</source>
        <translation>正在将 {name} 移动到 {folder}：复制、读回、校验</translation>
    </message>
    <message>
        <source>The model is in {folder} now.</source>
        <translation>模型现在位于 {folder}。</translation>
    </message>
    <message>
        <source>The model is in {folder} now, every byte compared.</source>
        <translation>模型现在位于 {folder}，已逐字节校验。</translation>
    </message>
</context>
<context>
    <name>TaskCard</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>VerifyActions</name>
    <message>
        <source>Verifying {name}: every byte is read and compared</source>
        <translation>正在校验 {name}：逐字节读取并比对</translation>
    </message>
    <message>
        <source>{name}: {bad} of {count} files are not as they should be</source>
        <translation>{name}：{count} 个文件中有 {bad} 个不正确</translation>
    </message>
    <message>
        <source>Repair, fetch {size}</source>
        <translation>修复，重新获取 {size}</translation>
    </message>
    <message>
        <source>Repair</source>
        <translation>修复</translation>
    </message>
    <message>
        <source>The files have their right names again.</source>
        <translation>文件名已恢复正确。</translation>
    </message>
    <message>
        <source>What is bad is being fetched again, and nothing else.</source>
        <translation>只重新获取损坏的部分。</translation>
    </message>
    <message>
        <source>Show downloads</source>
        <translation>查看下载</translation>
    </message>
</context>
<context>
    <name>_FileTable</name>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>Sources</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>{share} here</source>
        <translation>已有 {share}</translation>
    </message>
    <message>
        <source>{share} checked</source>
        <translation>已校验 {share}</translation>
    </message>
    <message>
        <source>verified</source>
        <translation>已校验</translation>
    </message>
    <message>
        <source>damaged</source>
        <translation>已损坏</translation>
    </message>
</context>
<context>
    <name>_FolderRow</name>
    <message>
        <source>default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>Open {path}</source>
        <translation>打开 {path}</translation>
    </message>
    <message>
        <source>Forget {path}</source>
        <translation>移除 {path}</translation>
    </message>
    <message>
        <source>Forget this folder. Its files stay where they are.</source>
        <translation>从模型库移除此文件夹，其中的文件保持原样。</translation>
    </message>
</context>
</TS>
