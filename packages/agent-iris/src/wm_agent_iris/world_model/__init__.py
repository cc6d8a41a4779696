"""The transformer world model. Section 2.2."""
