"""What runs in a game's own interpreter: `python -m wm_env_minecraft.server`. Python 3.8, standard library, numpy."""
