"""Document -> phrases that may be keyphrases."""
