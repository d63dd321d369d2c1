"""Every family of models with torch and transformers."""
