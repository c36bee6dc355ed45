"""How many tokens the cache of a server engine holds. Pure.

vLLM (0.25.1) keeps one pool of blocks per layer of a group; groups of layers with different needs
(whole context, a window, a state) share the pools, so that a sequence takes blocks from each.
Checked on an H200 against what the engine logged: the same number of blocks and tokens.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kimi_desktop.models.geometry import LayerKind
from kimi_desktop.models.hf_config import HfConfig
from kimi_desktop.planner.vllm_types import CacheFormat, ServerEngine, ServerSettings

BLOCK_TOKENS = 16
MLA_FP8_BLOCK_TOKENS = 64
"""The kernels that read an FP8 latent, and all of Blackwell's, want larger blocks."""
INDEX_BYTES = 132
"""Of one token's sparse-attention index: 128 numbers of 8 bits and a scale."""
STATE_BYTES = 4
CONV_BYTES = 2
MANY_MORE = 1.5
"""How much larger one group may be before padding the others is too dear."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """The cache of one rank."""

    token_bytes: int
    """Of one layer that attends over the whole context."""
    block_tokens: int
    pools: int
    """Layers that have memory of their own; groups of other kinds share it."""
    groups: Counter[LayerKind]
    """Groups of each kind; every one takes blocks of a sequence."""
    layer_bytes_per_token: int
    """What one more token takes on this rank, windows and states being full."""

    @property
    def page_bytes(self) -> int:
        """One block of one pool."""
        return self.token_bytes * self.block_tokens


def cache_shape(
    config: HfConfig, settings: ServerSettings, layers: range, *, large_blocks: bool = False
) -> CacheShape:
    """The shape on one rank.

    Args:
        config: the model.
        settings: with defaults filled in.
        layers: of the rank's pipeline stage.
        large_blocks: the GPU is of a generation (Blackwell) whose kernels want larger blocks.
    """
    kinds = [config.layers[index] for index in layers]
    counts = Counter(kinds)
    token = token_bytes(config, settings)
    block = BLOCK_TOKENS
    if config.is_mla and (settings.cache is CacheFormat.FP8 or large_blocks):
        block = MLA_FP8_BLOCK_TOKENS
    if settings.engine is ServerEngine.SGLANG:
        block = 1
    state = state_bytes(config, settings.split.tensor)
    if counts[LayerKind.RECURRENT] and token and settings.engine is ServerEngine.VLLM:
        block *= -(-state // (block * token))  # a block holds a state
    pools, groups = _groups(counts)
    return CacheShape(token, block, pools, groups, token * counts[LayerKind.FULL])


def token_bytes(config: HfConfig, settings: ServerSettings) -> int:
    """What one layer keeps of one token, on every rank of a tensor-parallel group."""
    size = settings.cache.element_bytes
    if config.is_mla:  # one latent, on every rank alike
        latent = (config.kv_lora_rank + config.qk_rope_head_dim) * size
        return latent + (INDEX_BYTES if config.index_head_dim else 0)
    heads = max(1, config.n_head_kv // settings.split.tensor)
    return heads * (config.head_dim + config.value_head_dim) * size


def state_bytes(config: HfConfig, tensor: int) -> int:
    """The state of one recurrent layer and sequence on a rank."""
    return (config.state.n_conv * CONV_BYTES + config.state.n_ssm * STATE_BYTES) // tensor


def sequence_blocks(config: HfConfig, settings: ServerSettings, shape: CacheShape) -> int:
    """Blocks that one sequence of the longest length takes from every pool."""
    block = shape.block_tokens
    context = -(-settings.context // settings.split.decode_context)
    batched = settings.n_batched_tokens or 0
    window = min(config.window - 1 + batched, settings.context)
    needs = {
        LayerKind.FULL: -(-context // block),
        # A window need not begin where a block does.
        LayerKind.WINDOW: -(-window // block) + 1,
        LayerKind.RECURRENT: 1,
    }
    return sum(needs.get(kind, 0) * count for kind, count in shape.groups.items())


def _groups(counts: Counter[LayerKind]) -> tuple[int, Counter[LayerKind]]:
    """How many pools there are, and how many groups of each kind share them."""
    kept = {kind: count for kind, count in counts.items() if kind is not LayerKind.NOTHING}
    if not kept:
        return 0, Counter()
    least, most = min(kept.values()), max(kept.values())
    pools = most if most < least * MANY_MORE else least
    return pools, Counter({kind: -(-count // pools) for kind, count in kept.items()})
