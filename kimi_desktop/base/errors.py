"""Every failure that a person may read about, as a code with parameters.

::

    KimiError
    ├── SettingsError    settings file, profile, data folder
    ├── HardwareError    probing this computer
    ├── MonitorError     samples and their export
    ├── ModelError       model files and their headers
    ├── PlanError        wishes that no placement can fulfil
    ├── DownloadError    fetching and proving files
    ├── BackendError     finding, starting, running and ending an engine
    ├── ChatError        conversations and streams
    └── ServeError       the gateway

Code never holds text for people: ``base.messages`` has, for each code, one sentence that says what
happened (key = the code) and one that says what to do (key = code + ``.next``), in every language.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class ErrorCode(StrEnum):
    """What went wrong. The part before the dot is the topic file in ``base.messages``."""

    # settings
    SETTINGS_UNREADABLE = "settings.unreadable"
    SETTINGS_TOO_NEW = "settings.too_new"
    SETTINGS_BAD_VALUE = "settings.bad_value"
    SETTINGS_NOT_SAVED = "settings.not_saved"
    DATA_READ_ONLY = "settings.data_read_only"
    DISK_FULL = "settings.disk_full"
    ALREADY_RUNNING = "settings.already_running"
    UNEXPECTED = "settings.unexpected"

    # machine
    MACHINE_PROBE_FAILED = "machine.probe_failed"
    MACHINE_FILE_UNREADABLE = "machine.file_unreadable"
    MACHINE_FILE_NOT_JSON = "machine.file_not_json"
    MACHINE_FILE_UNKNOWN_KEYS = "machine.file_unknown_keys"
    MACHINE_FILE_BAD_VALUE = "machine.file_bad_value"
    MACHINE_FILE_TOO_NEW = "machine.file_too_new"
    EXPORT_FAILED = "machine.export_failed"
    EXPORT_DISK_FULL = "machine.export_disk_full"
    PROGRAM_STAYS = "machine.program_stays"
    EXPERIMENT_RUNNING = "machine.experiment_running"
    NO_EARLIER_BENCH = "machine.no_earlier_bench"

    # models
    MODEL_NOT_FOUND = "models.not_found"
    MODEL_UNKNOWN = "models.unknown"
    MODEL_AMBIGUOUS = "models.ambiguous"
    NO_MODEL = "models.none"
    MODEL_NOT_GGUF = "models.not_gguf"
    MODEL_BAD_HEADER = "models.bad_header"
    MODEL_BIG_ENDIAN = "models.big_endian"
    MODEL_CUT = "models.cut"
    MODEL_TOO_SHORT = "models.too_short"
    MODEL_UNSUPPORTED = "models.unsupported"
    MODEL_PART_MISSING = "models.part_missing"
    MODEL_PARTS_MIXED = "models.parts_mixed"
    MODEL_PART_FOREIGN = "models.part_foreign"
    MODEL_BLOCKS = "models.blocks"
    MODEL_UNREADABLE = "models.unreadable"
    MODEL_COMPANION = "models.companion"
    MODEL_NO_WEIGHTS = "models.no_weights"
    MODEL_NO_SUFFIX = "models.no_suffix"
    MODEL_NEEDS_SERVER = "models.needs_server"
    MODEL_NEEDS_FOLDER = "models.needs_folder"
    MODEL_FOLDER_MISSING = "models.folder_missing"
    MODEL_NO_TRASH = "models.no_trash"
    MODEL_NOT_REMOVED = "models.not_removed"
    MODEL_NOT_RESTORED = "models.not_restored"
    MODEL_NOT_MOVED = "models.not_moved"
    MODEL_MOVE_DAMAGED = "models.move_damaged"
    MODEL_MOVE_MISMATCH = "models.move_mismatch"
    MODEL_NAME_TAKEN = "models.name_taken"
    MODEL_FILE_TOO_LARGE = "models.file_too_large"
    MODEL_IN_USE = "models.in_use"
    MODEL_NO_GGUF = "models.no_gguf"
    MODEL_NO_QUANTIZATION = "models.no_quantization"
    MODEL_BAD_ADDRESS = "models.bad_address"
    MODEL_UNKNOWN_ANYWHERE = "models.unknown_anywhere"
    MODEL_LIKE_NONE = "models.like_none"
    MODEL_NONE_IN_FOLDER = "models.none_in_folder"
    STARTER_MISSING = "models.starter_missing"
    STARTER_DAMAGED = "models.starter_damaged"
    MODEL_NOT_SAVED = "models.not_saved"
    MODEL_NO_SPACE = "models.no_space"
    CATALOGUE_DAMAGED = "models.catalogue_damaged"

    # plans
    DIAGNOSIS_NO_LOG = "diagnosis.no_log"
    DIAGNOSIS_NO_RUN = "diagnosis.no_run"
    DIAGNOSIS_NO_FAILURE = "diagnosis.no_failure"
    DIAGNOSIS_NOTHING_KEPT = "diagnosis.nothing_kept"
    PLAN_BAD_WISH = "plan.bad_wish"
    PLAN_OTHER_ENGINE = "plan.other_engine"
    PLAN_NODES = "plan.nodes"
    PLAN_TOO_MANY_LAYERS = "plan.too_many_layers"
    PLAN_BAD_CACHE_TYPE = "plan.bad_cache_type"
    PLAN_NO_HEADER = "plan.no_header"
    PLAN_NO_PROFILE = "plan.no_profile"
    PLAN_NO_GEOMETRY = "plan.no_geometry"
    PLAN_NO_SIZE = "plan.no_size"

    # downloads
    DOWNLOAD_OFFLINE = "downloads.offline"
    DOWNLOAD_NOT_FOUND = "downloads.not_found"
    DOWNLOAD_REFUSED = "downloads.refused"
    DOWNLOAD_PORTAL = "downloads.portal"
    DOWNLOAD_BROKEN = "downloads.broken"
    DOWNLOAD_REDIRECT = "downloads.redirect"
    DOWNLOAD_BAD_LISTING = "downloads.bad_listing"
    DOWNLOAD_HASH_MISMATCH = "downloads.hash_mismatch"
    DOWNLOAD_NO_SPACE = "downloads.no_space"
    DOWNLOAD_NOT_WRITTEN = "downloads.not_written"
    DOWNLOAD_PART_GONE = "downloads.part_gone"
    DOWNLOAD_CHANGED = "downloads.changed"
    DOWNLOAD_CLOCK_WRONG = "downloads.clock_wrong"
    DOWNLOAD_FILE_TOO_LARGE = "downloads.file_too_large"
    DOWNLOAD_FOLDER_BUSY = "downloads.folder_busy"
    DOWNLOAD_VOLUME_GONE = "downloads.volume_gone"
    DOWNLOAD_HELD = "downloads.held"
    DOWNLOAD_OTHER_VERSION = "downloads.other_version"
    DOWNLOAD_QUEUE_FAILED = "downloads.queue_failed"
    DOWNLOAD_STOPPED = "downloads.stopped"
    DOWNLOAD_LEADS_OUT = "downloads.leads_out"
    DOWNLOAD_REPAIR_SEVERAL = "downloads.repair_several"
    DOWNLOAD_NO_REPAIR = "downloads.no_repair"
    DOWNLOAD_REPAIR_MIXED = "downloads.repair_mixed"
    DOWNLOAD_UNKNOWN = "downloads.unknown"
    DOWNLOAD_WORKER_DIED = "downloads.worker_died"
    VERIFY_BAD = "verify.bad"

    # hubs
    HUB_BAD_NAME = "hubs.bad_name"
    HUB_UNKNOWN_SOURCE = "hubs.unknown_source"
    HUB_BAD_ADDRESS = "hubs.bad_address"
    HUB_NO_REPO = "hubs.no_repo"
    HUB_NO_REVISION = "hubs.no_revision"
    HUB_GATED = "hubs.gated"
    HUB_GATED_NO_TOKEN = "hubs.gated_no_token"
    HUB_BAD_TOKEN = "hubs.bad_token"
    HUB_TOKEN_MALFORMED = "hubs.token_malformed"
    HUB_TOKEN_NOT_KEPT = "hubs.token_not_kept"
    HUB_NOTHING_CHOSEN = "hubs.nothing_chosen"
    HUB_NO_QUANTIZATION = "hubs.no_quantization"
    HUB_NO_MATCH = "hubs.no_match"
    HUB_NO_WEIGHTS = "hubs.no_weights"
    HUB_SET_INCOMPLETE = "hubs.set_incomplete"
    HUB_HOSTILE_NAME = "hubs.hostile_name"
    HUB_BUSY = "hubs.busy"
    HUB_TROUBLE = "hubs.trouble"

    # imports
    IMPORT_NOT_THERE = "imports.not_there"
    IMPORT_NOTHING = "imports.nothing"
    IMPORT_INCOMPLETE = "imports.incomplete"

    # engines
    WORKER_BAD_ADDRESS = "workers.bad_address"
    WORKER_PUBLIC_ADDRESS = "workers.public_address"
    WORKER_CHOOSE_ADDRESS = "workers.choose_address"
    WORKER_NOT_HERE = "workers.not_here"
    WORKER_NO_PROGRAM = "workers.no_program"
    WORKER_PORT_TAKEN = "workers.port_taken"
    WORKER_ENDED = "workers.ended"
    WORKER_UNREACHABLE = "workers.unreachable"
    WORKER_BUSY = "workers.busy"
    WORKER_NOT_ONE = "workers.not_one"
    WORKER_TOO_OLD = "workers.too_old"
    WORKER_OTHER_VERSION = "workers.other_version"
    WORKER_NO_ENGINE = "workers.no_engine"
    WORKER_UNKNOWN = "workers.unknown"
    WORKER_LOST = "workers.lost"
    NODE_COUNT = "nodes.count"
    NODE_BAD_NAME = "nodes.bad_name"
    NODE_TWICE = "nodes.twice"
    NODE_BY_HAND = "nodes.by_hand"
    NODE_NO_SSH = "nodes.no_ssh"
    NODE_UNREACHABLE = "nodes.unreachable"
    NODE_NO_ENGINE = "nodes.no_engine"
    NODE_OTHER_ADDRESS = "nodes.other_address"
    NODE_NO_MODEL = "nodes.no_model"
    NODE_OTHER_VERSION = "nodes.other_version"
    NODE_OTHER_GPUS = "nodes.other_gpus"
    NODE_ENDED = "nodes.ended"
    ENGINE_NOT_FOUND = "engine.not_found"
    ENGINE_NOT_EXECUTABLE = "engine.not_executable"
    ENGINE_START_FAILED = "engine.start_failed"
    ENGINE_SAID_NOTHING = "engine.said_nothing"
    ENGINE_NOT_BEGUN = "engine.not_begun"
    ENGINE_NOT_ONE = "engine.not_one"
    ENGINE_EXITED = "engine.exited"
    ENGINE_KILLED = "engine.killed"
    ENGINE_KILLED_LOADING = "engine.killed_loading"
    ENGINE_OUT_OF_MEMORY = "engine.out_of_memory"
    ENGINE_BAD_MODEL = "engine.bad_model"
    ENGINE_WRONG_CPU = "engine.wrong_cpu"
    ENGINE_PORT_TAKEN = "engine.port_taken"
    ENGINE_BAD_ARGUMENT = "engine.bad_argument"
    ENGINE_NOT_READY = "engine.not_ready"
    ENGINE_BUSY = "engine.busy"
    ENGINE_NOT_IN_PYTHON = "engine.not_in_python"
    ENGINE_TOO_OLD = "engine.too_old"
    ENGINE_NO_PLAN = "engine.no_plan"
    ENGINE_NEEDS_CONSENT = "engine.needs_consent"
    ENGINE_NO_SANDBOX = "engine.no_sandbox"

    ENGINE_FLAG_UNKNOWN = "engine.flag_unknown"
    ENGINE_FLAG_FORBIDDEN = "engine.flag_forbidden"
    ENGINE_FLAG_CONFLICT = "engine.flag_conflict"
    ENGINE_FLAG_LACKS = "engine.flag_lacks"
    ENGINE_FLAG_QUOTES = "engine.flag_quotes"
    ENGINE_CANNOT = "engine.cannot"
    ENGINE_DOES_WITHOUT = "engine.does_without"
    ENGINE_LOADED_NO_GPU = "engine.loaded_no_gpu"
    ENGINE_LOADED_LAYERS = "engine.loaded_layers"
    ENGINE_LOADED_CONTEXT = "engine.loaded_context"
    ENGINE_LOADED_MEMORY = "engine.loaded_memory"
    ENGINE_FIRST_EMPTY = "engine.first_empty"
    ENGINE_FIRST_REPEATS = "engine.first_repeats"
    ENGINE_FIRST_TEMPLATE = "engine.first_template"
    ENGINE_FIRST_GIBBERISH = "engine.first_gibberish"
    ENGINE_MISSING_LIBRARY = "engine.missing_library"
    ENGINE_OLD_SYSTEM = "engine.old_system"

    # official builds of engines
    BUILD_NONE_HERE = "builds.none_here"
    BUILD_NO_RELEASE = "builds.no_release"
    BUILD_NO_CHECKSUM = "builds.no_checksum"
    BUILD_BAD_ARCHIVE = "builds.bad_archive"
    BUILD_NO_SUCH_KIND = "builds.no_such_kind"
    BUILD_UNKNOWN = "builds.unknown"
    BUILD_IN_USE = "builds.in_use"

    # engines installed into environments of their own
    INSTALL_NONE_HERE = "installs.none_for_system"
    INSTALL_NO_PYTHON = "installs.no_python"
    INSTALL_NO_VENV = "installs.no_venv"
    INSTALL_NO_NETWORK = "installs.no_network"
    INSTALL_NO_WHEEL = "installs.no_wheel"
    INSTALL_NO_TORCH = "installs.no_torch"
    INSTALL_NO_COMPILER = "installs.no_compiler"
    INSTALL_BAD_HASH = "installs.bad_hash"
    INSTALL_FAILED = "installs.failed"

    # servers that somebody else runs
    SERVER_BAD_NAME = "attached.bad_name"
    SERVER_BAD_ADDRESS = "attached.bad_address"
    SERVER_UNKNOWN = "attached.unknown"
    SERVER_UNREACHABLE = "attached.unreachable"
    SERVER_NEEDS_KEY = "attached.needs_key"
    SERVER_BAD_KEY = "attached.bad_key"
    SERVER_BAD_CERTIFICATE = "attached.bad_certificate"
    SERVER_NO_TLS = "attached.no_tls"
    SERVER_NOT_OPENAI = "attached.not_openai"
    SERVER_TROUBLE = "attached.trouble"
    SERVER_NO_MODEL = "attached.no_model"
    SERVER_LOST = "attached.lost"
    SERVER_KEY_OPEN = "attached.key_open"
    SERVER_KEY_MALFORMED = "attached.key_malformed"
    SERVER_KEY_NOT_KEPT = "attached.key_not_kept"
    SERVER_NOT_IN_STORE = "attached.not_in_store"

    # chat
    CHAT_NO_ENGINE = "chat.no_engine"
    CHAT_CONNECTION_LOST = "chat.connection_lost"
    CHAT_BAD_ANSWER = "chat.bad_answer"
    CHAT_REFUSED = "chat.refused"
    CHAT_TOO_LONG = "chat.too_long"
    CHAT_ONLY_THINKING = "chat.only_thinking"
    CHAT_LOOPING = "chat.looping"
    CHAT_TEMPLATE_LEAK = "chat.template_leak"
    CHAT_GIBBERISH = "chat.gibberish"
    CHAT_EMPTY_ANSWER = "chat.empty_answer"
    CHAT_STORE_FAILED = "chat.store_failed"
    CHAT_STORE_DAMAGED = "chat.store_damaged"
    CHAT_STORE_TOO_NEW = "chat.store_too_new"

    # serve
    SERVE_NO_ADDRESS = "serve.no_address"
    SERVE_NETWORK_CHANGED = "serve.network_changed"
    SERVE_CLIENT_NAME = "serve.client_name"
    SERVE_CLIENTS_FULL = "serve.clients_full"
    SERVE_CLIENT_UNKNOWN = "serve.client_unknown"
    SERVE_KEYS_NOT_KEPT = "serve.keys_not_kept"
    SERVE_PORT_TAKEN = "serve.port_taken"
    SERVE_NOT_SAVED = "serve.not_saved"
    SERVE_FAILED = "serve.failed"


Param = str | int | float


class KimiError(Exception):
    """A failure with a code, the facts that fill its sentence, and the exception behind it."""

    def __init__(
        self,
        code: ErrorCode,
        params: Mapping[str, Param] | None = None,
        *,
        cause: BaseException | None = None,
    ) -> None:
        self.code = code
        self.params: Mapping[str, Param] = dict(params or {})
        self.__cause__ = cause
        facts = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        super().__init__(f"{code.value}({facts})")


class SettingsError(KimiError):
    """The settings file, the profile or the data folder."""


class HardwareError(KimiError):
    """Probing this computer."""


class MonitorError(KimiError):
    """Samples and their export."""


class ModelError(KimiError):
    """Model files and their headers."""


class PlanError(KimiError):
    """Wishes that no placement can fulfil."""


class DownloadError(KimiError):
    """Fetching and proving files."""


class BackendError(KimiError):
    """Finding, starting, running and ending an engine."""


class DiagnosisError(KimiError):
    """A log that cannot be read."""


class ChatError(KimiError):
    """Conversations and streams."""


class ServeError(KimiError):
    """The gateway."""
