"""The commands of `isrlab`, a module for each group. Every module has `add_commands`, which says what may be asked of it."""
