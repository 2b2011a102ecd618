"""The handlers of actions: acts and questions, playback, time travel, causes, saving, help. Each is an object that knows no widget."""
