"""The client-side assignors `sticky` and `cooperative-sticky`."""
