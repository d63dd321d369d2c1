"""The service: HTTP, a queue, worker threads that share one model. Importing this package imports nothing."""
