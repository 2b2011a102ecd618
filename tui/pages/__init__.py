"""The pages that replace the overview. Each module has pure functions that paint frozen state as lines, and a thin `Page` around them."""
