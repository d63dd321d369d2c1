"""Small graphs that onnxruntime computes."""
