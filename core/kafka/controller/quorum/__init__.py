"""The metadata quorum: voters that agree on a log, and the controller that executes the committed entries."""
