"""The benchmarks: `python -m bench`. Ratios measured side by side in one run; absolute figures are for orientation."""
