"""A page with a list that can be filtered.

The key / asks for the words of the filter, and Esc clears the filter. The list shows only entries that contain every word.
"""

from __future__ import annotations

from typing import ClassVar

from textual.strip import Strip

from tui.pages.page import Page
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, wrap


def has_words(text: str, wanted: str) -> bool:
    """Return whether text contains every wanted word, regardless of case."""
    text = text.lower()
    return all(word in text for word in wanted.lower().split())


def no_match(what: str, wanted: str, paint: Palette, width: int) -> list[Strip]:
    """Paint what a list says if its filter leaves nothing: `what` does not match, for example `setting`, and how to leave the filter."""
    said = f"No {what} matches '{wanted}'. To change the filter, press /. To clear the filter, press Esc."
    return [Row().add(f" {line}", paint.warn).strip(width) for line in wrap(said, width - 2)]


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
