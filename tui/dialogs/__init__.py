"""What comes up over the main screen: questions, lines to write, closer looks, the help, the command palette."""
