"""The engine without torch, held against the engine with it."""
