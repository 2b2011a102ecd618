"""A page with a list that one filters: / asks for words, Esc drops them, and only what has every one of them is listed."""

from __future__ import annotations

from typing import ClassVar

from tui.pages.page import Page


def has_words(text: str, wanted: str) -> bool:
    """Whether every word that is wanted stands in a text, in whatever case."""
    text = text.lower()
    return all(word in text for word in wanted.lower().split())


class FilteredPage(Page):
    """Base of such pages.

    Attributes:
        what: what is listed, in the plural.
        words: of what the words may be, with examples.
        wanted: the filter; empty: all is listed.
    """

    what: ClassVar[str] = ""
    words: ClassVar[str] = ""

    wanted = ""

    def search(self) -> bool:
        """Ask for the filter."""

        def take(text: str) -> None:
            self.wanted = text
            self.screen.show_now()

        self.screen.prompts.ask_text(f"Filter {self.what}", f"{self.words}. An empty filter shows all.", self.wanted, lambda _: None, take)
        return True

    def back(self) -> bool:
        """Drop the filter first."""
        if self.wanted:
            self.wanted = ""
            return True
        return False
