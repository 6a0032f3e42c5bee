"""Mistral, Qwen, Phi-3, SmolLM3, and Llama with stretched turns."""

CASES: dict[str, tuple[str, dict]] = {}
