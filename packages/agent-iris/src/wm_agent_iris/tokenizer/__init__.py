"""The discrete autoencoder. Section 2.1."""
