"""The Chat page: list of chats, transcript, composer, inspector. Qt thread."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import (
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.events import Event
from kimi_desktop.base.settings import Settings
from kimi_desktop.chat.types import (
    AnswerFinished,
    AnswerStats,
    ChatListChanged,
    Message,
    MessageAdded,
    PrefillProgressed,
    QueueChanged,
    Role,
    TokensArrived,
)
from kimi_desktop.models.types import LibraryChanged
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.chat.addressee import addressee, key_of, title_of, waited_for, wake
from kimi_desktop.ui.chat.chat_list import ChatList
from kimi_desktop.ui.chat.composer import Composer
from kimi_desktop.ui.chat.conversation import Conversation
from kimi_desktop.ui.chat.inspector import Inspector
from kimi_desktop.ui.chat.item_views import Act
from kimi_desktop.ui.chat.link_popover import LinkPopover
from kimi_desktop.ui.chat.panes import Panes
from kimi_desktop.ui.chat.transcript import Transcript
from kimi_desktop.ui.shortcuts import KEYS
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.widgets.painting import painter_on


class ChatPage(QWidget):
    """One chat at a time; the others are in the list."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._chat_id = 0
        self._edited: int | None = None
        """The message that the composer writes anew."""
        self.chats = ChatList(bridge, self)
        self.conversation = Conversation(bridge, self)
        self.inspector = Inspector(bridge, self)
        self.panes = Panes(self, bridge, self.chats, self.conversation, self.inspector)
        QWidget.setTabOrder(self.chats, self.conversation)
        QWidget.setTabOrder(self.conversation, self.inspector)
        self._listing = QTimer(self)
        self._listing.setSingleShot(True)
        self._listing.setInterval(0)
        self._listing.timeout.connect(self.chats.refresh)
        self._connect()
        self._bind_keys()
        self._show_model()
        self._take_settings()
        self._open_first()

    @property
    def chat_id(self) -> int:
        """The chat that is shown."""
        return self._chat_id

    @property
    def transcript(self) -> Transcript:
        """Its messages."""
        return self.conversation.transcript

    @property
    def composer(self) -> Composer:
        """Where the next one is written."""
        return self.conversation.composer

    def open_chat(self, chat_id: int) -> None:
        """Show a chat."""
        self.composer.leave_edit()
        self._edited = None
        self._chat_id = chat_id
        messages = self._bridge.services.chats.messages(chat_id)
        self.transcript.show_messages(messages)
        self.conversation.show_transcript(bool(messages))
        self.chats.select(chat_id)
        self.inspector.show_chat(chat_id, _last_stats(messages))
        self._show_waiting()
        self._show_model()
        self._show_generating()
        self.panes.close_drawer()

    def new_chat(self) -> None:
        """Show an empty chat and write in it."""
        self.open_chat(self._bridge.services.chats.new_chat())
        self.composer.input.setFocus()

    def copy_last_answer(self) -> None:
        """The last answer's Markdown, to the clipboard."""
        for entry in reversed(self.transcript.entries):
            if entry.message.role is Role.ASSISTANT:
                QGuiApplication.clipboard().setText(entry.message.text)
                return

    def regenerate(self) -> None:
        """Answer the last question again."""
        chats = self._bridge.services.chats
        if chats.generating_chat is None and self.conversation.shows_transcript:
            to = addressee(self._bridge, self._chat_id)
            chats.regenerate(self._chat_id, key_of(to))
            wake(self._bridge, to)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The panes fold where there is no room."""
        super().resizeEvent(event)
        self.panes.lay_out()

    def showEvent(self, event: QShowEvent) -> None:
        """One can write at once."""
        super().showEvent(event)
        self.panes.lay_out()
        self.composer.input.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc closes a drawer, leaves an edit, or stops the answer."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
            return
        if self.panes.close_drawer():
            return
        if self.composer.is_editing:
            self.composer.leave_edit()
            self._edited = None
        elif self._bridge.services.chats.generating_chat is not None:
            self._bridge.services.chats.stop()
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground."""
        del event
        painter = painter_on(self)
        painter.fillRect(self.rect(), color(tokens().window))
        painter.end()

    # wiring

    def _connect(self) -> None:
        go = self._bridge.navigation
        go.chat_wanted.connect(self.open_chat)
        go.new_chat_wanted.connect(self.new_chat)
        self.chats.chosen.connect(self.open_chat)
        self.chats.new_wanted.connect(self.new_chat)
        self.chats.deleted.connect(self._on_deleted)
        self.chats.restored.connect(self.open_chat)
        self.transcript.acted.connect(self._on_act)
        self.transcript.link_activated.connect(self._on_link)
        self.composer.sent.connect(self._on_sent)
        self.composer.stop_wanted.connect(self._bridge.services.chats.stop)
        self.composer.take_back_wanted.connect(self._on_take_back)
        self.composer.thinking_changed.connect(self._on_thinking)
        self.composer.edit_left.connect(self._on_edit_left)
        self.conversation.start.prompt_chosen.connect(self._on_sent)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus)
        self._bridge.happened.connect(self._on_event)

    def _bind_keys(self) -> None:
        for action, run in (
            ("regenerate", self.regenerate),
            ("copy_answer", self.copy_last_answer),
        ):
            bound = QShortcut(QKeySequence(KEYS[action]), self)
            bound.activated.connect(run)

    def _on_focus(self, _before: QWidget | None, now: QWidget | None) -> None:
        self.panes.on_focus(now)

    def _on_event(self, event: Event) -> None:
        match event:
            case TokensArrived() if event.chat_id == self._chat_id:
                self.transcript.feed(event)
            case PrefillProgressed() if event.chat_id == self._chat_id:
                self.transcript.progress(event.message_id, event.done_tokens, event.total_tokens)
            case AnswerFinished():
                if event.chat_id == self._chat_id:
                    self.transcript.finish(event.message, event.error)
                self._show_generating()
            case MessageAdded():
                if event.chat_id == self._chat_id:
                    self._on_message(event.message)
                self._show_generating()
            case QueueChanged():
                self._show_waiting()
            case ChatListChanged():
                self._listing.start()
            case EngineStateChanged() | LibraryChanged():
                self._show_model()
            case SettingsChanged():
                self._take_settings()
            case _:
                pass

    def _on_message(self, message: Message) -> None:
        """The chat has changed at its end: take what is new, keep what stands."""
        self.conversation.show_transcript(True)
        self.transcript.update_messages(self._bridge.services.chats.messages(self._chat_id))
        if message.role is Role.USER:
            self.transcript.to_latest()

    # what the user does

    def _on_sent(self, text: str) -> None:
        chats = self._bridge.services.chats
        to = addressee(self._bridge, self._chat_id)
        if self._edited is not None:
            edited, self._edited = self._edited, None
            self.composer.leave_edit()
            chats.edit(self._chat_id, edited, text, key_of(to))
        else:
            chats.send(self._chat_id, text, key_of(to))
        wake(self._bridge, to)

    def _on_take_back(self) -> None:
        text = self._bridge.services.chats.cancel_queued(self._chat_id)
        written = self.composer.text().strip()
        self.composer.put("\n\n".join(part for part in (text, written) if part))

    def _on_edit_left(self) -> None:
        self._edited = None

    def _on_act(self, message_id: int, act: Act) -> None:
        chats = self._bridge.services.chats
        if act is Act.REGENERATE:
            self.regenerate()
        elif act is Act.OLDER:
            chats.show_version(self._chat_id, message_id, -1)
        elif act is Act.NEWER:
            chats.show_version(self._chat_id, message_id, +1)
        elif act is Act.EDIT:
            self._edit(message_id)
        elif act is Act.COPY:
            message = self._message(message_id)
            if message is not None:
                QGuiApplication.clipboard().setText(message.text)

    def _edit(self, message_id: int) -> None:
        """Write a question anew; from an answer it is the question before it."""
        question: Message | None = None
        for entry in self.transcript.entries:
            if entry.message.role is Role.USER:
                question = entry.message
            if entry.message.id == message_id:
                break
        if question is not None:
            self._edited = question.id
            self.composer.edit(question.text)

    def _message(self, message_id: int) -> Message | None:
        for entry in self.transcript.entries:
            if entry.message.id == message_id:
                return entry.message
        return None

    def _on_link(self, address: str, where: QPoint) -> None:
        LinkPopover(self.window(), address, where).open()

    def _on_thinking(self, on: bool) -> None:
        def change(settings: Settings) -> Settings:
            chat = dataclasses.replace(settings.chat, thinking=on)
            return dataclasses.replace(settings, chat=chat)

        self._bridge.save_settings(change)

    def _on_deleted(self, chat_id: int) -> None:
        if chat_id == self._chat_id:
            self._open_first()

    # what is shown

    def _open_first(self) -> None:
        """The chat that is answered, else the newest, else an empty one."""
        chats = self._bridge.services.chats
        listed = [chat.id for chat in chats.chats()]
        answering = chats.generating_chat
        if answering in listed:  # a deleted chat answers until its stream has ended
            self.open_chat(answering)
        else:
            self.open_chat(listed[0] if listed else chats.new_chat())

    def _show_generating(self) -> None:
        generating = self._bridge.services.chats.generating_chat
        self.composer.show_generating(generating == self._chat_id)

    def _show_waiting(self) -> None:
        queued = self._bridge.services.chats.queued_text(self._chat_id)
        self.composer.show_waiting(queued, waited_for(self._bridge, self._chat_id))

    def _show_model(self) -> None:
        what = addressee(self._bridge, self._chat_id)
        model, remote = what.model, what.remote
        known = model is not None and model.facts is not None and model.facts.has_thinking
        if remote is not None:
            known = remote.program.takes_switches
        self.composer.show_model(title_of(what))
        self.composer.show_thinking(known=known, on=self._bridge.settings.chat.thinking)
        self.conversation.start.refresh()

    def _take_settings(self) -> None:
        settings = self._bridge.settings
        self.composer.set_enter_sends(settings.window.enter_sends)
        self.composer.thinking.setChecked(settings.chat.thinking)
        self._show_model()
        self.panes.lay_out()


def _last_stats(messages: tuple[Message, ...]) -> AnswerStats | None:
    for message in reversed(messages):
        if message.stats is not None:
            return message.stats
    return None
