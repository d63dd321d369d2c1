"""Heat -> one of eight colours, from pale to glowing. All pictures but the PNG, which has more, share the steps."""

STEPS = 8

# Of the 256 colours that terminals agree on, each with black letters on it. Pale is dull and hot is vivid, rather than
# light and dark: so that it shows on a black ground as on a white one.
TERMINAL = (251, 187, 223, 222, 221, 215, 209, 203)

# For a notebook, whose ground may be light or dark: veils through which it shows, so that its own letters can be read
# on them, and at last two colours with letters of their own.
VEILS = tuple(
    f"background-color:rgba(240,98,42,{share});color:inherit" for share in (0.06, 0.12, 0.2, 0.28, 0.36, 0.45)
)
NOTEBOOK = (*VEILS, *(f"background-color:{ground};color:#171c26" for ground in ("#f48548", "#f0622a")))


def step(heat: float) -> int:
    """Which of the colours, from 0 to 7."""
    return min(STEPS - 1, int(heat * STEPS))
