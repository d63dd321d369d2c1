"""The service: HTTP in, a queue, one worker thread with one model, JSON out. Importing this package imports nothing."""
