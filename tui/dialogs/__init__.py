"""The dialogs that open over the main screen: questions, text input, details, the help, and the command palette."""
