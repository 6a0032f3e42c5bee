"""ELECTRA, CamemBERT, MPNet, ModernBERT and DeBERTa-v3, with each kind of head."""

CASES: dict[str, tuple[str, dict]] = {}
