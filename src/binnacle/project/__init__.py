"""One project: where it is, its store, its scripts and the catalog of its tools."""
