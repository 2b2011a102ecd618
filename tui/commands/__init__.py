"""The commands of `isrlab`, with a module for each group. The function `add_commands` of a module defines its commands and options."""
