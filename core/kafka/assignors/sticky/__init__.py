"""The assignors `sticky` and `cooperative-sticky` of clients."""
