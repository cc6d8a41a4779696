"""The distributions of Dreamer: plain functions and small classes, whose noise is drawn by the caller."""
