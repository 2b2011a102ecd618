"""One index of everything that a person might look for: scenarios, questions, errors, settings, readings, events, and acts."""
