"""Decoder-only models and BERT without torch: onnxruntime multiplies, numpy does what lies between."""
