"""The screens beside the overview. Each module has pure paint functions from frozen state to lines, and a thin `Page` around them."""
