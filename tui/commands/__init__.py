"""The commands of `isrlab`, with a module for each group.

In each module, the function `add_commands` defines the commands and their options.
"""
