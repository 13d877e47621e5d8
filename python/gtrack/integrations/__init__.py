"""Callbacks and loggers for training libraries: one module for each."""
