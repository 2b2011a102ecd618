"""The main screen: what is shown, what is chosen, and what each key does."""
