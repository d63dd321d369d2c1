"""MUDY inside other tools: one module per tool, imported only by its users.

Every module takes the same plain settings, see `extraction`. If the tool is not installed, the error names the command
that installs it.
"""
