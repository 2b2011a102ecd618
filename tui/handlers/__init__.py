"""The handlers of actions, grouped by purpose: acts and questions, playback, time travel, causes, saving, and help.

Handlers do not depend on widgets.
"""
