"""From a file to a corpus: reading, batching, resuming and scaling out. `run` does what `mudy corpus` does."""

from mudy.corpus.comparison import Comparison, Contrast, compare_corpora
from mudy.corpus.rows import Columns
from mudy.corpus.runner import Progress, Summary, run

__all__ = ["Columns", "Comparison", "Contrast", "Progress", "Summary", "compare_corpora", "run"]
