"""Lessons on the screen: the panel of the lesson that is running, and the page that lists all lessons."""
