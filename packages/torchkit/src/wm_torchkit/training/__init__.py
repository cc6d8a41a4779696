"""The training loop: a schedule of components, exact resume, metrics, progress over the whole schedule."""
