"""The building blocks: layers, encoders, decoders, recurrences."""
