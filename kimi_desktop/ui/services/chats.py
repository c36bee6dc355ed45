"""Chats, and the endpoint for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kimi_desktop.base.operation import Operation
from kimi_desktop.chat.types import ChatSummary, Message
from kimi_desktop.serve.types import ServeStatus, Snippet


class ChatService(Protocol):
    """Conversations. Publishes ChatListChanged, MessageAdded, TokensArrived, AnswerFinished ..."""

    def chats(self, query: str = "") -> tuple[ChatSummary, ...]:
        """The chats whose title or text has ``query``, newest first."""

    def chats_of(self, model_id: str) -> tuple[ChatSummary, ...]:
        """The chats in which a local model answered, newest first."""

    def messages(self, chat_id: int) -> tuple[Message, ...]:
        """The visible messages of a chat, oldest first (the open answer included)."""

    def new_chat(self) -> int:
        """Make an empty chat and return its id (an empty one is reused)."""

    def rename(self, chat_id: int, title: str) -> None:
        """Give it another title."""

    def delete(self, chat_id: int) -> None:
        """Delete it; ``restore`` undoes."""

    def restore(self, chat_id: int) -> None:
        """Undo the deletion."""

    def send(self, chat_id: int, text: str, model: str = "") -> None:
        """Add a message and stream the answer; queued until ``model`` is ready ("" = any)."""

    def regenerate(self, chat_id: int, model: str = "") -> None:
        """Answer the last question again, as another version; ``model`` as in ``send``."""

    def show_version(self, chat_id: int, message_id: int, step: int) -> None:
        """Switch a message to an older (-1) or newer (+1) version."""

    def edit(self, chat_id: int, message_id: int, text: str, model: str = "") -> None:
        """Replace a user message by another version and answer that; ``model`` as in ``send``."""

    def stop(self) -> None:
        """End the open answer; the text so far is kept."""

    def queued_text(self, chat_id: int) -> str:
        """What waits to be sent in this chat, "" when nothing does."""

    def queued_model(self, chat_id: int) -> str:
        """What it waits for, as ``model_of`` says it; "" = whatever is ready."""

    def model_of(self, chat_id: int) -> str:
        """What answered last in a chat: a model's path, or "server: model"; "" = nothing yet."""

    def cancel_queued(self, chat_id: int) -> str:
        """Take the queued message back and return its text."""

    @property
    def generating_chat(self) -> int | None:
        """The chat whose answer is open."""


class ServeService(Protocol):
    """The gateway. Publishes ServeChanged."""

    @property
    def status(self) -> ServeStatus:
        """Now."""

    def switch_on(self) -> Operation[ServeStatus]:
        """Start the gateway on 127.0.0.1."""

    def switch_off(self) -> Operation[ServeStatus]:
        """End it."""

    def renew_key(self) -> Operation[ServeStatus]:
        """Replace the key; the old one stops working at once."""

    def add_client(self, name: str) -> Operation[ServeStatus]:
        """A key of its own for one more program; fails for a name that is empty or taken."""

    def revoke_client(self, name: str) -> Operation[ServeStatus]:
        """Its key stops working at once."""

    def lan_addresses(self) -> Operation[tuple[str, ...]]:
        """This machine's addresses in local networks."""

    def set_address(self, address: str) -> Operation[ServeStatus]:
        """Serve at this one of them, too; "" = this machine only. One that is on starts again."""

    def set_encrypted(self, *, encrypted: bool) -> Operation[ServeStatus]:
        """Encrypt what goes over the local network. One that is on starts again."""

    def save_certificate(self, file: Path) -> Operation[Path]:
        """Copy the certificate that is in force; fails with SERVE_NOT_SAVED."""

    def snippets(self) -> tuple[Snippet, ...]:
        """Lines to try the gateway with, one of each kind; () while it would not answer them."""
