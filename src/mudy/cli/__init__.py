"""The command `mudy`. Every module adds its commands to the group in `main` when it is imported, which is done here."""

from mudy.cli import (  # noqa: F401 (for what they add)
    corpus_command,
    data_commands,
    evaluate_command,
    explain_command,
    extract_command,
    list_commands,
    serve_command,
    tag_command,
)
