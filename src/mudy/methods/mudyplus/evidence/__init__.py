"""What speaks for a phrase: one small file for each kind of evidence, each pure functions of a text and its candidates.

Evidence of counting takes `Places`; that of models takes what a model said. Every function gives one number a phrase.
"""
