"""The working memory of a server engine: the widest step, CUDA graphs, contexts. Pure.

vLLM runs one step of the largest size with made-up tokens before it divides what is left into
blocks. The terms follow its code (0.25.1): expanded latents of MLA for 65,536 tokens of context,
two buffers of every token for every expert that it is sent to, logits of every sequence with the
copies that sampling makes. Fitted to 22 starts on an H200 (``tests/data/vllm_measured.jsonl``):
within 1.6 GiB of each, which is within 5 % of the cache.
"""

from __future__ import annotations

from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.models.hf_config import HfConfig
from kimi_desktop.planner.vllm_types import ServerSettings

HALF = 2
"""Bytes of a 16-bit number."""
LATENT_WORKSPACE_TOKENS = 65_536
LATENT_WORKSPACE_REQUESTS = 8
FLOOR_BYTES = 34 * MIB
COMPILED_WIDTH = 1.6
"""Compiled steps keep more of a step's tensors at once than eager ones (measured 0.94 to 1.63)."""
LOGIT_BYTES_EXPERTS = 18.5
"""Per logit: 16 and 32 bits, and what sorting for top-p makes of it (runner of MoE models)."""
LOGIT_BYTES_DENSE = 6.0
VISION_BYTES = 2 * GIB
"""The largest picture on its way through the vision tower; not measured."""
STATE_PAIR_BYTES = 850
"""Per token of a step and pair of heads, in models with Kimi Delta Attention. Fitted to one and two
GPUs, which took 6.6 and 1.4 GiB more than the other terms; where it comes from is not known."""

CONTEXT_BYTES = int(0.51 * GIB)
"""A process on a GPU before it loads anything."""
COMMUNICATION_BYTES = GIB
"""What NCCL and its buffers take on each GPU of a tensor-parallel group (measured with two)."""
GROUP_BYTES = GIB // 2
"""Each further group: experts, decode context."""
PIPELINE_BYTES = int(0.9 * GIB)

FORWARD_BYTES = GIB // 4
"""Kernels and libraries that a step loads, counted against the budget."""
FORWARD_TENSOR_BYTES = int(0.6 * GIB)

GRAPH_BYTES = GIB // 2
LATENT_GRAPH_BYTES = GIB // 4
MOST_GRAPH_BATCH = 512
LATENT_SPLITS = 64
"""Partial results that attention over the latent keeps per head and sequence, in 32 bits."""
DENSE_GRAPH_BYTES = GIB
"""Dense models (the newer runner) capture graphs after the cache was sized, beside the budget."""

HOST_PROCESS_BYTES = int(1.2 * GIB)
HOST_RANK_BYTES = int(2.6 * GIB)
PINNED_SHARE = 1.4
"""Pinned memory comes in powers of two: 10 GiB of weights took 14."""

DRIVER_SHARE = 0.014
DRIVER_BYTES = int(0.62 * GIB)
"""What NVML counts of a GPU and CUDA does not give (0.6 GiB of an H200, 0.35 of 24 GB)."""


def cuda_total_bytes(vram_bytes: int) -> int:
    """The memory that CUDA reports for a GPU of which NVML reports ``vram_bytes``."""
    return vram_bytes - min(int(vram_bytes * DRIVER_SHARE), DRIVER_BYTES)


def activation_bytes(config: HfConfig, settings: ServerSettings) -> int:
    """The widest step, beside weights and cache."""
    tokens, sequences = settings.n_batched_tokens or 0, settings.n_sequences or 0
    tensor = settings.split.tensor
    hidden = config.n_embd
    heads = -(-config.n_head // tensor)
    if config.is_mla:
        width = config.q_lora_rank + config.kv_lora_rank + config.qk_rope_head_dim
        width += heads * (config.qk_nope_head_dim + config.qk_rope_head_dim + config.v_head_dim)
    else:
        kv = max(1, config.n_head_kv // tensor)
        width = heads * 2 * config.head_dim + kv * (config.head_dim + config.value_head_dim)
    width += 2 * hidden
    if config.n_expert:
        width += 2 * config.n_expert_used * hidden
    else:
        width = max(width, 3 * config.n_ff // tensor + 4 * hidden)
    step = HALF * tokens * width
    if not settings.eager:
        step = int(step * COMPILED_WIDTH)
    each = LOGIT_BYTES_EXPERTS if config.n_expert else LOGIT_BYTES_DENSE
    logits = int(sequences * config.n_vocab * each) + HALF * tokens * hidden
    step += _latent_workspace(config, settings)
    step += STATE_PAIR_BYTES * tokens * (config.state.n_head // tensor) ** 2
    total = FLOOR_BYTES + max(step, logits)
    return total + (VISION_BYTES if config.has_vision and not settings.text_only else 0)


def forward_bytes(settings: ServerSettings) -> int:
    """What is not PyTorch's, taken by the first step."""
    return FORWARD_TENSOR_BYTES if settings.split.tensor > 1 else FORWARD_BYTES


def graph_bytes(config: HfConfig, settings: ServerSettings) -> int:
    """CUDA graphs within the budget."""
    if settings.eager or not config.n_expert:
        return 0
    if not config.is_mla:
        return GRAPH_BYTES
    batch = min(settings.n_sequences or 0, MOST_GRAPH_BATCH)
    heads = -(-config.n_head // settings.split.tensor)
    return LATENT_GRAPH_BYTES + batch * heads * config.kv_lora_rank * 4 * LATENT_SPLITS


def outside_bytes(config: HfConfig, settings: ServerSettings) -> int:
    """What a rank takes of its GPU beside the budget."""
    split = settings.split
    total = CONTEXT_BYTES
    if split.tensor > 1:
        total += COMMUNICATION_BYTES + (GROUP_BYTES if config.n_expert else 0)
        total += GROUP_BYTES if split.decode_context > 1 else 0
    if split.pipeline > 1 or split.data > 1:
        total += PIPELINE_BYTES
    if not settings.eager and not config.n_expert:
        total += DENSE_GRAPH_BYTES
    return total


def host_bytes(n_rank: int) -> int:
    """Main memory of the server's processes, without what weights are kept there."""
    return HOST_PROCESS_BYTES + n_rank * HOST_RANK_BYTES


def pinned_bytes(size: int) -> int:
    """Main memory that offloaded weights take."""
    return int(size * PINNED_SHARE)


def _latent_workspace(config: HfConfig, settings: ServerSettings) -> int:
    """K and V of earlier tokens, expanded from the latent while a prompt is read."""
    if not config.is_mla:
        return 0
    tokens = min(LATENT_WORKSPACE_REQUESTS * settings.context, LATENT_WORKSPACE_TOKENS)
    heads = -(-config.n_head // settings.split.tensor)
    return HALF * tokens * heads * (config.qk_nope_head_dim + config.v_head_dim)
