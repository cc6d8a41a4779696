"""Own episodes: a schema, readers for npz, HDF5 and video, a validator, and the way into the replay."""
