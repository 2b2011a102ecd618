"""The handlers of actions: acts and questions, playback, time travel, causes, saving, and help. Handlers do not depend on widgets."""
