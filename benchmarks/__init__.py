"""Speed and memory, a question a file: `python -m benchmarks.obvious`, or all of them with `python -m benchmarks`."""

QUESTIONS = ("speeds", "throughput", "startup", "peers", "obvious", "growth", "peak")  # in the order of the report
MODELS = ("gemma3-270m", "smollm2-135m")
WARM = "A short text about river ice and a radar map. The map is old."  # read once before any clock starts
