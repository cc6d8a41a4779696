"""wm-torchkit: what the agents of wmbench share. Import from the module that has the subject's name."""
