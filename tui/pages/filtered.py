"""A page with a list that can be filtered.

The key / asks for the words of the filter, and Esc clears the filter. The list shows only entries that contain every word.
"""

from __future__ import annotations

from typing import ClassVar

from tui.pages.page import Page


def has_words(text: str, wanted: str) -> bool:
    """Return whether text contains every wanted word, regardless of case."""
    text = text.lower()
    return all(word in text for word in wanted.lower().split())


class FilteredPage(Page):
    """Base class of pages with a filter.

    Attributes:
        what: a plural noun for the listed entries.
        words: a description of the words that the filter accepts, with examples.
        wanted: the words of the filter; if empty, the list shows all entries.
    """

    what: ClassVar[str] = ""
    words: ClassVar[str] = ""

    wanted = ""

    def search(self) -> bool:
        """Ask for the words of the filter."""

        def take(text: str) -> None:
            self.wanted = text
            self.screen.show_now()

        self.screen.prompts.ask_text(
            f"Filter {self.what}", f"{self.words}. To show everything, leave the line empty.", self.wanted, lambda _: None, take
        )
        return True

    def back(self) -> bool:
        """Clear the filter. Return False if there is no filter to clear."""
        if self.wanted:
            self.wanted = ""
            return True
        return False
